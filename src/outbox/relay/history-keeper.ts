/** Drops history that was kept long enough, in batches, so that no single delete is a long one. */
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { RelayContext } from './relay-context.ts'

const EVERY_MS = 60_000
/** After a start, for a process that never lives for long. */
const FIRST_MS = 1_000
const AT_A_TIME = 1_000

export class HistoryKeeper {
	readonly #context: RelayContext
	readonly #keepForMs: number
	#cancel: CancelTimer | undefined
	#isOver = false

	constructor(context: RelayContext, keepForMs: number) {
		this.#context = context
		this.#keepForMs = keepForMs
		this.#arm(FIRST_MS)
	}

	stop(): void {
		this.#isOver = true
		this.#cancel?.()
	}

	#arm(ms: number): void {
		if (!this.#isOver)
			this.#cancel = this.#context.runtime.setTimer(ms, () => void this.#drop(), 'housekeeping')
	}

	async #drop(): Promise<void> {
		let dropped = 0
		try {
			dropped = await this.#context.store.dropHistory(this.#keepForMs, AT_A_TIME)
		} catch {
			// What is left over is dropped the next time.
		}
		// The next batch in a turn of its own, for others have theirs as well.
		this.#arm(dropped === AT_A_TIME ? 0 : EVERY_MS)
	}
}
