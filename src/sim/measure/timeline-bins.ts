/**
 * Counts over time, in a fixed number of steps. When a run outgrows the last step, steps are merged in pairs
 * and become twice as long, so that memory does not grow with the simulated time.
 */
const STEPS = 240

export class TimelineBins {
	readonly #channels: Channel[] = []
	stepMs: number

	constructor(stepMs: number) {
		this.stepMs = stepMs
	}

	/** Adds a series of values: the sum, or the maximum, of each step. */
	channel(merge: 'sum' | 'max' = 'sum'): Channel {
		const channel = new Channel(this, merge === 'max')
		this.#channels.push(channel)
		return channel
	}

	channels<Name extends string>(...names: readonly Name[]): Record<Name, Channel> {
		return Object.fromEntries(names.map((name) => [name, this.channel()])) as Record<Name, Channel>
	}

	indexAt(time: number): number {
		let step = Math.floor(time / this.stepMs)
		while (step >= STEPS) {
			this.#fold()
			step = Math.floor(time / this.stepMs)
		}
		return step
	}

	/** Returns the start of the next step. Always later than `time`, whatever the rounding. */
	nextEdge(time: number): number {
		const next = (this.indexAt(time) + 1) * this.stepMs
		return next > time ? next : next + this.stepMs
	}

	/**
	 * Returns the number of steps up to a time. A step that starts exactly then counts if it has values, as in
	 * a run that ends with its last event.
	 */
	countUntil(time: number): number {
		while (time > STEPS * this.stepMs) this.#fold()
		const steps = Math.max(1, Math.ceil(time / this.stepMs))
		return this.#channels.some((channel) => channel.valueAt(steps) > 0) ? steps + 1 : steps
	}

	#fold(): void {
		this.stepMs *= 2
		for (const channel of this.#channels) channel.fold()
	}
}

export class Channel {
	readonly #bins: TimelineBins
	readonly #isMax: boolean
	readonly #values = new Float64Array(STEPS)

	constructor(bins: TimelineBins, isMax: boolean) {
		this.#bins = bins
		this.#isMax = isMax
	}

	count(time: number): void {
		const step = this.#bins.indexAt(time)
		this.#values[step] = (this.#values[step] ?? 0) + 1
	}

	raise(time: number, value: number): void {
		const step = this.#bins.indexAt(time)
		if (value > (this.#values[step] ?? 0)) this.#values[step] = value
	}

	fold(): void {
		const values = this.#values
		for (let step = 0; step < STEPS; step++) {
			const [first, second] = [values[2 * step] ?? 0, values[2 * step + 1] ?? 0]
			values[step] = this.#isMax ? Math.max(first, second) : first + second
		}
	}

	values(length: number): number[] {
		return Array.from(this.#values.subarray(0, length))
	}

	/** Returns the value of one step; 0 beyond the last. */
	valueAt(step: number): number {
		return this.#values[step] ?? 0
	}
}

export const readChannels = <Name extends string>(
	channels: Readonly<Record<Name, Channel>>,
	length: number,
): Record<Name, number[]> =>
	Object.fromEntries(
		Object.entries<Channel>(channels).map(([name, channel]) => [name, channel.values(length)]),
	) as Record<Name, number[]>
