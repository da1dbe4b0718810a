/**
 * Deadlines are passed down from call to call, so that every layer knows the remaining time and does not
 * start work whose result comes too late. They use the monotonic clock, so a jump of the wall clock does not
 * move them.
 */
import { DeadlineExceededError } from '../errors/errors.ts'
import { checkAmount, invalidArgument } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'

/**
 * The point in time by which a call must have finished, retries included. Pass it as `deadline` in the call
 * options of `execute`, or create it from a header with `Deadline.fromHeader`.
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
		// JavaScript does not know that it is private.
		if (typeof runtime?.now !== 'function')
			invalidArgument('ms', runtime, 'Deadline.after(ms) instead of new Deadline(ms)')
		this.#runtime = runtime
		this.#at = at
	}

	/** Returns a deadline `ms` from now. */
	static after(ms: number, options: { readonly runtime?: Runtime | undefined } = {}): Deadline {
		checkAmount('ms', ms)
		const runtime = options.runtime ?? systemRuntime
		return new Deadline(runtime, runtime.now() + ms)
	}

	/**
	 * Returns the deadline that another machine sent in a header, as `toHeader` writes it, but at most `maxMs`
	 * from now. Returns undefined if the value is not an integer. Default of `maxMs`: no limit.
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

	/**
	 * Returns the remaining milliseconds for a header, rounded down. They are relative, because the clocks of
	 * two machines differ.
	 */
	toHeader(): string {
		return String(Math.floor(this.remainingMs))
	}

	/** The remaining time in milliseconds; 0 after expiry. */
	get remainingMs(): number {
		return Math.max(0, this.#at - this.#runtime.now())
	}

	/** True after the deadline. */
	get isExpired(): boolean {
		return this.remainingMs === 0
	}

	/** Returns a deadline `marginMs` earlier, for an inner call: time is left to respond. Default 100. */
	child(marginMs = 100): Deadline {
		checkAmount('marginMs', marginMs)
		if (this.remainingMs <= marginMs) {
			throw new DeadlineExceededError(
				`too little time left: ${Math.round(this.remainingMs)} ms, with a margin of ${marginMs} ms`,
			)
		}
		return new Deadline(this.#runtime, this.#at - marginMs)
	}

	/** Returns true if an attempt that takes `estimatedMs` finishes before the deadline. */
	shouldRetry(estimatedMs: number): boolean {
		return !this.isExpired && this.remainingMs >= estimatedMs
	}

	/** Throws a DeadlineExceededError after the deadline, like `AbortSignal.throwIfAborted`. */
	throwIfExpired(): void {
		if (this.isExpired) throw new DeadlineExceededError()
	}

	/** Calls `listener` at the deadline, or immediately after it. The returned function cancels that. */
	onExpiry(listener: (error: DeadlineExceededError) => void): () => void {
		let cancel: (() => void) | undefined
		const check = () => {
			// A timer may fire slightly early.
			if (this.isExpired) listener(new DeadlineExceededError())
			else cancel = this.#runtime.setTimer(this.remainingMs, check, 'housekeeping')
		}
		check()
		return () => cancel?.()
	}

	/** A signal that aborts at the deadline with a DeadlineExceededError. Created when first read. */
	get signal(): AbortSignal {
		if (!this.#controller) {
			const controller = new AbortController()
			this.#controller = controller
			this.onExpiry((error) => controller.abort(error))
		}
		return this.#controller.signal
	}
}
