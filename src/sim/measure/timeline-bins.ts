/**
 * Counts over time in a fixed number of steps. When a run goes on beyond the last one, steps are joined in pairs and become
 * twice as long, so that the room needed does not grow with the time that is simulated.
 */
const STEPS = 240

export class TimelineBins {
	readonly #channels: Channel[] = []
	stepMs: number

	/** `stepMs` is how long a step is at first. */
	constructor(stepMs: number) {
		this.stepMs = stepMs
	}

	/** A new row of numbers, for sums, or for the greatest of each step. */
	channel(joined: 'sum' | 'most' = 'sum'): Channel {
		const channel = new Channel(this, joined === 'most')
		this.#channels.push(channel)
		return channel
	}

	/** The step that a time is in. */
	at(time: number): number {
		let step = Math.floor(time / this.stepMs)
		while (step >= STEPS) {
			this.#fold()
			step = Math.floor(time / this.stepMs)
		}
		return step
	}

	/** When the step after this time's begins. Always later, however a division is rounded. */
	after(time: number): number {
		const next = (this.at(time) + 1) * this.stepMs
		return next > time ? next : next + this.stepMs
	}

	/**
	 * How many steps there are up to a time, the last of them perhaps not over. One that begins just then counts if something
	 * has happened in it, as in a run that ends with its last event.
	 */
	until(time: number): number {
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
	readonly #steps: TimelineBins
	readonly #isMost: boolean
	readonly #values = new Float64Array(STEPS)

	constructor(steps: TimelineBins, isMost: boolean) {
		this.#steps = steps
		this.#isMost = isMost
	}

	count(time: number): void {
		const step = this.#steps.at(time)
		this.#values[step] = (this.#values[step] ?? 0) + 1
	}

	/** Keeps the greatest of a step. */
	raise(time: number, value: number): void {
		const step = this.#steps.at(time)
		if (value > (this.#values[step] ?? 0)) this.#values[step] = value
	}

	fold(): void {
		const values = this.#values
		for (let step = 0; step < STEPS; step++) {
			const [first, second] = [values[2 * step] ?? 0, values[2 * step + 1] ?? 0]
			values[step] = this.#isMost ? Math.max(first, second) : first + second
		}
	}

	/** So many, from the first. */
	first(steps: number): number[] {
		return Array.from(this.#values.subarray(0, steps))
	}

	/** Of one step; 0 beyond the last. */
	valueAt(step: number): number {
		return this.#values[step] ?? 0
	}
}
