/**
 * Has it recovered, and when? Two things must hold: everybody who was caught by the fault has an answer, and those who
 * call anew are well. The second is looked for by when calls began, for a success that comes late tells of the past. "Well" is
 * nearly what it was before the fault, for a time long enough that it is no accident.
 */
import type { Recovery } from './result.ts'

/** Calls that begin well are at least this share of what they were before the fault. */
const WELL = 0.95

/** They must be so over so long, or until nothing was left to do. A run that ends before that has not shown it. */
const HELD_MS = 5_000

/** Calls that began in a stretch of time, and those of them that have ended well. */
export interface Begun {
	readonly begun: number
	readonly good: number
}

export interface Course {
	/** When the last fault ended. */
	readonly faultToMs: number
	/** Of the calls that began before the first fault and have ended. */
	readonly before: Begun
	/** From the end of the last fault on. */
	readonly steps: readonly Begun[]
	readonly stepMs: number
	readonly endedAtMs: number
	/** Nothing was left to do at the end, so that the last steps need not hold for long. */
	readonly isIdle: boolean
	/** When the last call that had begun by `faultToMs` ended; undefined while one has not. */
	readonly clearedAtMs: number | undefined
}

export function recoveryOf(course: Course): Recovery | null {
	const { faultToMs, clearedAtMs, endedAtMs } = course
	if (endedAtMs < faultToMs) return null
	const healthyAfterMs = wellAfter(course) ?? null
	const drainedAfterMs = clearedAtMs === undefined ? null : Math.max(0, clearedAtMs - faultToMs)
	return {
		faultEndedAtMs: faultToMs,
		healthyAfterMs,
		drainedAfterMs,
		recoveredAfterMs:
			healthyAfterMs === null || drainedAfterMs === null ? null : Math.max(healthyAfterMs, drainedAfterMs),
	}
}

/** The first step that is well itself and begins a stretch that is. */
export function wellAfter({
	steps,
	stepMs,
	before,
	isIdle,
}: Omit<Course, 'clearedAtMs'>): number | undefined {
	// What never went well can not be so again.
	if (before.begun > 0 && before.good === 0) return undefined
	const least = WELL * (before.begun === 0 ? 1 : before.good / before.begun)
	const isWell = (begun: number, good: number) => good >= least * begun
	const held = Math.ceil(HELD_MS / stepMs)
	const total = runningSums(steps)
	for (const [from, { begun, good }] of steps.entries()) {
		const to = Math.min(from + held, steps.length)
		if (to - from < held && !isIdle) return undefined
		const [first, last] = [total[from], total[to]]
		if (first && last && isWell(begun, good) && isWell(last.begun - first.begun, last.good - first.good))
			return from * stepMs
	}
	return isIdle ? steps.length * stepMs : undefined
}

/** Of none, of the first, of the first two, ... */
function runningSums(steps: readonly Begun[]): readonly Begun[] {
	let [begun, good] = [0, 0]
	return [
		{ begun, good },
		...steps.map((step) => {
			begun += step.begun
			good += step.good
			return { begun, good }
		}),
	]
}
