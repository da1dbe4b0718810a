/**
 * Lets the rest of the process have its turn. A database in the process answers within the turn, and a loop of claims and quick handlers would
 * go on for as long as there is a message: no timer would fire, no heartbeat, no request be answered. Where answers come over a socket
 * others have their turn meanwhile; that is noticed, and nothing is waited for.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

/** So long nobody else needs a turn. */
const LONGEST_MS = 10

export class Breath {
	readonly #runtime: Runtime
	#takenAt: number
	#next: Promise<void> | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		this.#takenAt = runtime.now()
	}

	/** Waits for a turn if there has been none for too long. */
	async take(): Promise<void> {
		const next = this.#arm()
		if (this.#runtime.now() - this.#takenAt < LONGEST_MS) return
		await next
		// Before anybody else arms a timer: who waits for this one goes on before what is only to be done some time in that turn.
		void this.#arm()
	}

	#arm(): Promise<void> {
		this.#next ??= new Promise((resolve) => {
			const fire = () => {
				this.#takenAt = this.#runtime.now()
				this.#next = undefined
				resolve()
			}
			this.#runtime.setTimer(0, fire, 'housekeeping')
		})
		return this.#next
	}
}
