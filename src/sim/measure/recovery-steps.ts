import { type Counts, type Judgement, judgeHealth } from './health-windows.ts'

const STEP_MS = 100
const STEPS = 3_000
const NO_STEPS = new Uint32Array(0)

/** Counts of calls by the step in which they started, from the end of a fault on. */
export class RecoverySteps {
	/** Created when the first fault ends. */
	#started = NO_STEPS
	#ended = NO_STEPS
	#good = NO_STEPS
	#stepMs = STEP_MS
	/** The judgement of finer steps. */
	#earlier: Judgement | undefined

	/** Starts, or starts again after another fault. */
	clear(): void {
		this.#started = new Uint32Array(STEPS)
		this.#ended = new Uint32Array(STEPS)
		this.#good = new Uint32Array(STEPS)
		this.#stepMs = STEP_MS
		this.#earlier = undefined
	}

	hasRoom(at: number): boolean {
		return at < STEPS * this.#stepMs
	}

	started(at: number): void {
		const step = Math.floor(at / this.#stepMs)
		this.#started[step] = (this.#started[step] ?? 0) + 1
	}

	ended(at: number, isGood: boolean): void {
		const step = Math.floor(at / this.#stepMs)
		this.#ended[step] = (this.#ended[step] ?? 0) + 1
		if (isGood) this.#good[step] = (this.#good[step] ?? 0) + 1
	}

	/** Merges steps in pairs. */
	merge(judgement: Judgement): void {
		this.#earlier = judgement
		this.#stepMs *= 2
		for (const counts of [this.#started, this.#ended, this.#good])
			for (let step = 0; step < STEPS; step++)
				counts[step] = (counts[2 * step] ?? 0) + (counts[2 * step + 1] ?? 0)
	}

	/** Judges the first `lengthMs`. Calls that have been in flight for longer than `patienceMs` count as failed. */
	judge(before: Counts, lengthMs: number, patienceMs: number, isOver: boolean): Judgement {
		return judgeHealth({
			...{ started: this.#started, ended: this.#ended, good: this.#good, stepMs: this.#stepMs },
			...{ before, lengthMs, patienceMs, isOver, earlier: this.#earlier },
		})
	}
}
