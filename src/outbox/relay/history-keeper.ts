/** Drops history that was kept long enough, in batches, so that no single delete is a long one. */
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { RelayContext } from './context.ts'

const EVERY_MS = 60_000
const AT_A_TIME = 1_000

export class HistoryKeeper {
	readonly #context: RelayContext
	readonly #keepForMs: number
	#cancel: CancelTimer | undefined
	#isOver = false

	constructor(context: RelayContext, keepForMs: number) {
		this.#context = context
		this.#keepForMs = keepForMs
		this.#arm()
	}

	stop(): void {
		this.#isOver = true
		this.#cancel?.()
	}

	#arm(): void {
		if (!this.#isOver)
			this.#cancel = this.#context.runtime.setTimer(EVERY_MS, () => void this.#drop(), 'housekeeping')
	}

	async #drop(): Promise<void> {
		const { store } = this.#context
		try {
			while (!this.#isOver && (await store.dropHistory(this.#keepForMs, AT_A_TIME)) === AT_A_TIME);
		} catch {
			// What is left over is dropped the next time.
		}
		this.#arm()
	}
}
