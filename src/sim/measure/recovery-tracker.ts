/**
 * Decides whether and when a run recovered from its faults. Two conditions must hold: every call that was caught by the fault has
 * ended, and new calls succeed again. The second is judged by when calls started, because a late success belongs to the past.
 * "Succeed again" means nearly the share from before the fault, held long enough not to be an accident.
 *
 * The tracker counts in steps of its own that start with the end of the last fault, so that the result depends neither on the
 * length of the run nor on the steps of its timeline. When the steps are full and the run has not recovered, they are merged in pairs.
 */
import type { Recovery } from './result.ts'

const STEP_MS = 100
const STEPS = 3_000

/** Healthy: at least this fraction of the share of good calls before the fault. */
const HEALTHY = 0.95

/** Health must hold for this long, or until nothing was left to do. A run that ends earlier has not shown it. */
const HOLD_MS = 5_000

/** Calls that started in a period, and those of them that succeeded in time. */
export interface Started {
	readonly started: number
	readonly good: number
}

export interface HealthInput {
	/** Calls that started before the first fault and have ended. */
	readonly before: Started
	/** From the end of the last fault on. */
	readonly steps: readonly Started[]
	readonly stepMs: number
	/** Nothing was left to do at the end, so the last steps need not hold. */
	readonly isIdle: boolean
}

export class RecoveryTracker {
	readonly #fromMs: number
	readonly #toMs: number
	readonly #before = { started: 0, good: 0 }
	readonly #started = new Uint32Array(STEPS)
	readonly #good = new Uint32Array(STEPS)
	#stepMs = STEP_MS
	/** Calls in flight that started by the end of the last fault, and when the last such call ended. */
	#caught = 0
	#caughtEndedAt = 0
	/** Set if the run recovered before the steps were full. */
	#healthyAfterMs: number | undefined

	/** From the start of the first fault to the end of the last. */
	constructor(fromMs: number, toMs: number) {
		this.#fromMs = fromMs
		this.#toMs = toMs
	}

	start(now: number): void {
		if (now <= this.#toMs) this.#caught++
		if (now >= this.#toMs) this.#count(this.#started, now)
	}

	end(startedAt: number, now: number, isGood: boolean): void {
		if (startedAt <= this.#toMs) {
			this.#caught--
			this.#caughtEndedAt = now
		}
		if (startedAt < this.#fromMs) {
			this.#before.started++
			if (isGood) this.#before.good++
		} else if (isGood && startedAt >= this.#toMs) this.#count(this.#good, startedAt)
	}

	/** Returns null if the last fault had not ended yet. */
	recovery(endedAtMs: number, isIdle: boolean): Recovery | null {
		if (endedAtMs < this.#toMs) return null
		const healthyAfterMs = this.#healthyAfterMs ?? healthyAfter(this.#input(endedAtMs, isIdle)) ?? null
		const drainedAfterMs = this.#caught > 0 ? null : Math.max(0, this.#caughtEndedAt - this.#toMs)
		return {
			faultEndedAtMs: this.#toMs,
			healthyAfterMs,
			drainedAfterMs,
			recoveredAfterMs:
				healthyAfterMs === null || drainedAfterMs === null ? null : Math.max(healthyAfterMs, drainedAfterMs),
		}
	}

	#input(endedAtMs: number, isIdle: boolean): HealthInput {
		const steps = Math.max(0, endedAtMs - this.#toMs) / this.#stepMs
		const length = Math.min(STEPS, isIdle ? Math.ceil(steps) : Math.floor(steps))
		return {
			before: this.#before,
			steps: Array.from({ length }, (_, step) => ({
				started: this.#started[step] ?? 0,
				good: this.#good[step] ?? 0,
			})),
			stepMs: this.#stepMs,
			isIdle,
		}
	}

	#count(counts: Uint32Array, time: number): void {
		if (this.#healthyAfterMs !== undefined) return
		const step = Math.floor((time - this.#toMs) / this.#stepMs)
		if (step < STEPS) counts[step] = (counts[step] ?? 0) + 1
		else {
			this.#healthyAfterMs = healthyAfter(this.#input(time, false))
			if (this.#healthyAfterMs === undefined) this.#mergeSteps()
			this.#count(counts, time)
		}
	}

	#mergeSteps(): void {
		for (const counts of [this.#started, this.#good])
			for (let step = 0; step < STEPS; step++)
				counts[step] = (counts[2 * step] ?? 0) + (counts[2 * step + 1] ?? 0)
		this.#stepMs *= 2
	}
}

/** Returns the start of the first step that is healthy itself and begins a healthy period of HOLD_MS. */
export function healthyAfter({ steps, stepMs, before, isIdle }: HealthInput): number | undefined {
	// Calls that never succeeded cannot succeed again.
	if (before.started > 0 && before.good === 0) return undefined
	const required = HEALTHY * (before.started === 0 ? 1 : before.good / before.started)
	const isHealthy = (started: number, good: number) => good >= required * started
	const hold = Math.ceil(HOLD_MS / stepMs)
	const sums = runningSums(steps)
	for (const [from, { started, good }] of steps.entries()) {
		const to = Math.min(from + hold, steps.length)
		if (to - from < hold && !isIdle) return undefined
		const [first, last] = [sums[from], sums[to]]
		if (!first || !last || !isHealthy(started, good)) continue
		if (isHealthy(last.started - first.started, last.good - first.good)) return from * stepMs
	}
	return isIdle ? steps.length * stepMs : undefined
}

/** Sums of the first 0, 1, 2, ... steps. */
function runningSums(steps: readonly Started[]): readonly Started[] {
	let sum: Started = { started: 0, good: 0 }
	return [
		sum,
		...steps.map(({ started, good }) => {
			sum = { started: sum.started + started, good: sum.good + good }
			return sum
		}),
	]
}
