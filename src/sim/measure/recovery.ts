/**
 * Has it recovered, and when? Two things must hold: everybody who was caught by the fault has an answer, and those who
 * call anew are well. The second is looked for by when calls began, for a success that comes late tells of the past. "Well" is
 * nearly what it was before the fault, for a time long enough that it is no accident.
 */
import type { Recovery } from './result.ts'

/** Calls that begin well are at least this share of what they were before the fault. */
const WELL = 0.95

/** They must be so for so long, or until nothing was left to do. A run that ends before that has not shown it. */
const HELD_MS = 5_000

/** One step of the timeline, over all clients. */
export interface Step {
	readonly begun: number
	readonly good: number
	readonly bad: number
}

export interface Course {
	readonly stepMs: number
	readonly steps: readonly Step[]
	readonly endedAtMs: number
	/** When the first fault began and the last ended. */
	readonly faultFromMs: number
	readonly faultToMs: number
	/** Nothing was left to do at the end, so that the last steps need not hold for long. */
	readonly isIdle: boolean
	/** When the last call that had begun by `faultToMs` ended; undefined while one has not. */
	readonly clearedAtMs: number | undefined
}

export function recoveryOf(course: Course): Recovery | null {
	const { faultToMs, clearedAtMs, endedAtMs } = course
	if (endedAtMs < faultToMs) return null
	const wellAt = wellFrom(course)
	const wellAfterMs = wellAt === undefined ? null : Math.max(0, wellAt - faultToMs)
	const clearedAfterMs = clearedAtMs === undefined ? null : Math.max(0, clearedAtMs - faultToMs)
	return {
		faultEndedAtMs: faultToMs,
		wellAfterMs,
		clearedAfterMs,
		recoveredAfterMs:
			wellAfterMs === null || clearedAfterMs === null ? null : Math.max(wellAfterMs, clearedAfterMs),
	}
}

function wellFrom(course: Course): number | undefined {
	const { stepMs, steps, faultFromMs, faultToMs, isIdle } = course
	const before = sum(steps.slice(0, Math.floor(faultFromMs / stepMs)))
	const least = WELL * (before.good + before.bad === 0 ? 1 : before.good / (before.good + before.bad))
	const first = Math.ceil(faultToMs / stepMs)
	let from = first
	for (let index = first; index < steps.length; index++) {
		const step = steps[index]
		if (step && isWell(step, least)) {
			if ((index + 1 - from) * stepMs >= HELD_MS) return startOf(from, course)
		} else from = index + 1
	}
	return isIdle && from <= steps.length ? startOf(from, course) : undefined
}

/** A step in which calls began and none of them has ended says nothing good. */
const isWell = ({ begun, good, bad }: Step, least: number): boolean =>
	good + bad === 0 ? begun === 0 : good >= least * (good + bad)

const startOf = (step: number, { stepMs, faultToMs, endedAtMs }: Course): number =>
	Math.min(Math.max(faultToMs, step * stepMs), Math.max(faultToMs, endedAtMs))

const sum = (steps: readonly Step[]): Step =>
	steps.reduce((a, b) => ({ begun: a.begun + b.begun, good: a.good + b.good, bad: a.bad + b.bad }), {
		begun: 0,
		good: 0,
		bad: 0,
	})
