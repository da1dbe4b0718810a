/**
 * A point in time by which an answer is worth having. It is handed down, so that every layer knows what is left, and
 * nobody starts work that nobody will wait for. It runs on the clock that does not jump.
 */
import { DeadlineExceededError } from '../errors/errors.ts'
import { checkRange } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'

/**
 * What is left of a caller's patience.
 *
 * @example
 * const deadline = Deadline.after(2_000)
 * await policy.execute(({ signal }) => loadUser(id, signal), { deadline })
 */
export class Deadline {
	readonly #runtime: Runtime
	readonly #at: number
	#controller: AbortController | undefined

	private constructor(runtime: Runtime, at: number) {
		this.#runtime = runtime
		this.#at = at
	}

	/** A deadline `ms` from now. */
	static after(ms: number, options: { readonly runtime?: Runtime | undefined } = {}): Deadline {
		checkRange('Deadline.after(ms)', ms)
		const runtime = options.runtime ?? systemRuntime
		return new Deadline(runtime, runtime.now() + ms)
	}

	/**
	 * The deadline that another machine sent in a header, as `toHeader` writes it. Undefined for anything but whole milliseconds;
	 * at most `maxMs` from now, if that is given.
	 *
	 * @example
	 * const deadline = Deadline.fromHeader(request.headers.get('x-request-timeout-ms'), { maxMs: 30_000 })
	 */
	static fromHeader(
		value: string | null | undefined,
		options: { readonly runtime?: Runtime | undefined; readonly maxMs?: number | undefined } = {},
	): Deadline | undefined {
		if (!/^ *\d{1,15} *$/.test(value ?? '')) return undefined
		return Deadline.after(Math.min(Number(value), options.maxMs ?? Infinity), options)
	}

	/** What is left, for a header: relative, since no two machines have the same clock, and rounded down. */
	toHeader(): string {
		return String(Math.floor(this.remainingMs))
	}

	/** What is left, in milliseconds; 0 when it has passed. */
	get remainingMs(): number {
		return Math.max(0, this.#at - this.#runtime.now())
	}

	/** Has the time passed? */
	get isExpired(): boolean {
		return this.remainingMs === 0
	}

	/** A deadline that ends `marginMs` earlier, for a call further down, so that there is time left to answer. */
	child(marginMs = 100): Deadline {
		checkRange('child(marginMs)', marginMs)
		if (this.remainingMs <= marginMs) {
			throw new DeadlineExceededError(
				`nothing is left of the deadline: ${this.remainingMs} ms less a margin of ${marginMs} ms`,
			)
		}
		return new Deadline(this.#runtime, this.#at - marginMs)
	}

	/** Would another attempt that takes about `estimatedMs` still finish in time? */
	shouldRetry(estimatedMs: number): boolean {
		return !this.isExpired && this.remainingMs >= estimatedMs
	}

	/** Like `AbortSignal.throwIfAborted`: throws a DeadlineExceededError when the time has passed. */
	throwIfExpired(): void {
		if (this.isExpired) throw new DeadlineExceededError()
	}

	/** Calls `listener` when the time has come, at once if it has, unless what it returns is called before. */
	onExpiry(listener: (error: DeadlineExceededError) => void): () => void {
		let cancel: (() => void) | undefined
		const check = () => {
			// Timers may fire a little early, and nobody should hear of an end that has not come.
			if (this.isExpired) listener(new DeadlineExceededError())
			else cancel = this.#runtime.setTimer(this.remainingMs, check, 'housekeeping')
		}
		check()
		return () => cancel?.()
	}

	/** Aborts with a DeadlineExceededError when the time has come. Made, with its timer, when it is first read. */
	get signal(): AbortSignal {
		if (!this.#controller) {
			const controller = new AbortController()
			this.#controller = controller
			this.onExpiry((error) => controller.abort(error))
		}
		return this.#controller.signal
	}
}
