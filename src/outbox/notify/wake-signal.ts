/**
 * Where a loop waits: for a time, or until somebody rings. A ring while nobody waits is kept, so that none is lost between the decision
 * to wait and the waiting.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

export class WakeSignal {
	readonly #runtime: Runtime
	#isRung = false
	#answer: (() => void) | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
	}

	ring(): void {
		this.#isRung = true
		this.#answer?.()
	}

	/** Answers whether it was rung, at once if it has been since the latest wait. */
	async wait(ms: number): Promise<boolean> {
		if (!this.#isRung && ms > 0) {
			await new Promise<void>((resolve) => {
				const cancel = this.#runtime.setTimer(ms, resolve)
				this.#answer = () => {
					cancel()
					resolve()
				}
			})
			this.#answer = undefined
		}
		const wasRung = this.#isRung
		this.#isRung = false
		return wasRung
	}
}
