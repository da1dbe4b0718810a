/** The faults that currently affect a service. Events keep the fields up to date, so that reading them costs nothing. */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** Returns the faults of all services. */
export const faultsOf = ({ services }: Pick<Scenario, 'services'>): readonly Fault[] =>
	Object.values(services).flatMap((model) => (model.kind === 'optimistic-lock' ? [] : (model.faults ?? [])))

export class FaultSchedule {
	/** The mode of the current outage. */
	outage: 'refuse' | 'hang' | undefined
	slowdown = 1
	/** The share of responses that are errors, 0 to 1, and their status. */
	errorRate = 0
	errorStatus = 500
	/** By index, because the same fault object may be listed twice. */
	readonly #active = new Map<number, Fault>()

	/** `onOutage` is called when an outage begins. */
	constructor(loop: EventLoop, faults: readonly Fault[], onOutage: () => void) {
		for (const [index, fault] of faults.entries()) {
			loop.after(fault.fromMs, () => {
				const wasUp = this.outage === undefined
				this.#active.set(index, fault)
				this.#update()
				if (wasUp && this.outage) onOutage()
			})
			loop.after(fault.toMs, () => {
				this.#active.delete(index)
				this.#update()
			})
		}
	}

	#update(): void {
		this.outage = undefined
		this.slowdown = 1
		this.errorRate = 0
		for (const fault of this.#active.values()) {
			if (fault.kind === 'outage') this.outage = fault.mode ?? 'refuse'
			else if (fault.kind === 'slowdown') this.slowdown *= fault.factor
			else {
				// Concurrent faults are independent causes of failure.
				this.errorRate = 1 - (1 - this.errorRate) * (1 - fault.rate)
				this.errorStatus = fault.status ?? 500
			}
		}
	}
}
