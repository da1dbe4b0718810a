/**
 * Lets the rest of the process have its turn. A database in the process answers within the turn, and a loop of claims and quick handlers would
 * go on for as long as there is a message: no timer would fire, no heartbeat, no request be answered. Where answers come over a socket
 * others have their turn meanwhile; that is noticed, and nothing is waited for.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { nextTick } from '../relay/turn.ts'

/** So long nobody else needs a turn. */
const LONGEST_MS = 10

export class EventLoopYield {
	readonly #runtime: Runtime
	#takenAt: number
	#next: Promise<void> | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		this.#takenAt = runtime.now()
	}

	/** Waits for a turn if there has been none for too long. */
	async take(): Promise<void> {
		const now = () => this.#runtime.now()
		// Others had theirs since the latest look, so this is a turn of its own.
		if (this.#next === undefined) this.#takenAt = now()
		const next = this.#arm()
		if (now() - this.#takenAt < LONGEST_MS) return
		await next
		this.#takenAt = now()
		// Before anybody else asks for it: who waits for this turn goes on before what is only to be done some time in it.
		void this.#arm()
	}

	#arm(): Promise<void> {
		this.#next ??= new Promise((resolve) => {
			nextTick(this.#runtime, () => {
				this.#next = undefined
				resolve()
			})
		})
		return this.#next
	}
}
