/** What is wrong with a service at present, by its schedule. Kept up to date by events, so that asking costs nothing. */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Fault } from '../scenario/scenario.ts'

export class FaultSchedule {
	/** How it is down, if it is. */
	outage: 'refuse' | 'hang' | undefined
	/** Requests take so many times as long. */
	slowdown = 1
	/** The share of answers that are failures, and their status. */
	errorRate = 0
	errorStatus = 500
	/** By their numbers, for the same fault may be listed twice. */
	readonly #present = new Map<number, Fault>()

	/** `onOutage` is told when it goes down. */
	constructor(world: EventLoop, faults: readonly Fault[], onOutage: () => void) {
		for (const [number, fault] of faults.entries()) {
			world.after(fault.fromMs, () => {
				const wasUp = this.outage === undefined
				this.#present.set(number, fault)
				this.#look()
				if (wasUp && this.outage) onOutage()
			})
			world.after(fault.toMs, () => {
				this.#present.delete(number)
				this.#look()
			})
		}
	}

	#look(): void {
		this.outage = undefined
		this.slowdown = 1
		this.errorRate = 0
		for (const fault of this.#present.values()) {
			if (fault.kind === 'outage') this.outage = fault.mode ?? 'refuse'
			else if (fault.kind === 'slowdown') this.slowdown *= fault.factor
			else {
				// Two causes of failure are independent of each other.
				this.errorRate = 1 - (1 - this.errorRate) * (1 - fault.rate)
				this.errorStatus = fault.status ?? 500
			}
		}
	}
}
