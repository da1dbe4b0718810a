/**
 * Lets a loop sleep until a timeout or a wake-up. A wake-up that arrives while the loop is not waiting is
 * remembered, so none is lost between the decision to wait and the wait itself.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

export class WakeSignal {
	readonly #runtime: Runtime
	#isSet = false
	#endWait: (() => void) | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
	}

	wake(): void {
		this.#isSet = true
		this.#endWait?.()
	}

	/** Waits for `ms` or a wake-up, and returns true after one. One since the previous wait counts. */
	async wait(ms: number): Promise<boolean> {
		if (!this.#isSet && ms > 0) {
			await new Promise<void>((resolve) => {
				const cancel = this.#runtime.setTimer(ms, resolve)
				this.#endWait = () => {
					cancel()
					resolve()
				}
			})
			this.#endWait = undefined
		}
		const wasSet = this.#isSet
		this.#isSet = false
		return wasSet
	}
}
