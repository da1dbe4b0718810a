/**
 * Reads one source. A database that hangs must not block the others, and must not be asked again and again: a read that
 * did not end in time goes on, no second one is started, and the last known figures are returned meanwhile.
 */
import { withTimeout } from '../../core/runtime/sleep.ts'
import type { Problem } from '../contract.ts'
import { errorText, type QueueSettings } from './settings.ts'

const READ_TIMEOUT_MS = 3_000

export class SourceReader<Value> {
	readonly #source: string
	readonly #load: () => Promise<Value>
	readonly #settings: QueueSettings
	#pending: { readonly ended: Promise<void>; readonly startedAt: number } | undefined
	#value: Value | undefined
	#failure: { readonly since: number; readonly error: string } | undefined

	constructor(source: string, load: () => Promise<Value>, settings: QueueSettings) {
		this.#source = source
		this.#load = load
		this.#settings = settings
	}

	/** Returns the last known value, and the problem if it is not current. Never rejects. */
	async read(): Promise<{ readonly value: Value | undefined; readonly problems: readonly Problem[] }> {
		const { runtime } = this.#settings
		this.#pending ??= this.#start(runtime.now())
		const { ended, startedAt } = this.#pending
		const leftMs = startedAt + READ_TIMEOUT_MS - runtime.now()
		if (leftMs > 0) await withTimeout(runtime, leftMs, ended)
		if (this.#pending?.ended === ended) this.#fail(startedAt, `no response within ${READ_TIMEOUT_MS} ms`)
		return { value: this.#value, problems: this.#problems(runtime.now()) }
	}

	#start(startedAt: number) {
		const run = async (): Promise<void> => {
			try {
				this.#value = await this.#load()
				this.#failure = undefined
			} catch (error) {
				this.#fail(startedAt, errorText(error, this.#settings))
			}
			this.#pending = undefined
		}
		// Begins after `#pending` is set, because a source may throw immediately.
		return { ended: Promise.resolve().then(run), startedAt }
	}

	#fail(startedAt: number, error: string): void {
		this.#failure = { since: this.#failure?.since ?? startedAt, error }
	}

	#problems(now: number): readonly Problem[] {
		if (this.#failure === undefined) return []
		const { since, error } = this.#failure
		return [{ severity: 'error', kind: 'unreadable', source: this.#source, sinceMs: now - since, error }]
	}
}
