import type { CircuitSettings } from '../../../src/core/circuit-breaker/options.ts'

interface Ended {
	readonly at: number
	readonly failed: boolean
	readonly slow: boolean
}

/** A list of the calls that ended, for the model: what the rings and running sums have to agree with. */
export class ModelWindow {
	readonly #ended: Ended[]
	/** When the first call ended. The tenths of the window are counted from there. */
	#origin: number | undefined

	constructor(ended: Ended[] = []) {
		this.#ended = ended
		this.#origin = ended[0]?.at
	}

	add(ended: Ended): void {
		this.#origin ??= ended.at
		this.#ended.push(ended)
	}

	/** The latest so many calls, or those that lie in the present tenth of the window or the nine before it. */
	recent({ windowSize, monitorWindowMs }: CircuitSettings, now: number): readonly Ended[] {
		const tenth = (at: number) => Math.floor(((at - (this.#origin ?? 0)) * 10) / monitorWindowMs)
		const isGone = ({ at }: Ended) => windowSize === Infinity && tenth(now) - tenth(at) >= 10
		while (this.#ended.length > windowSize || this.#ended.slice(0, 1).some(isGone)) this.#ended.shift()
		return this.#ended
	}

	/** Treats all records as if they had the same time. */
	movedTo(at: number, settings: CircuitSettings, now: number): ModelWindow {
		return new ModelWindow(this.recent(settings, now).map((ended) => ({ ...ended, at })))
	}

	/** The same calls under other settings. From a window of time to one of calls, or back, none are kept. */
	under(settings: CircuitSettings, before: CircuitSettings, now: number): ModelWindow {
		const isSlowOff = settings.slowCallMs === Infinity
		if (
			before.windowSize === settings.windowSize &&
			before.monitorWindowMs === settings.monitorWindowMs &&
			(before.slowCallMs === Infinity) === isSlowOff
		)
			return this
		if ((settings.windowSize === Infinity) !== (before.windowSize === Infinity)) return new ModelWindow()
		return new ModelWindow(
			this.recent(before, now).map(({ failed, slow }) => ({ at: now, failed, slow: slow && !isSlowOff })),
		)
	}
}
