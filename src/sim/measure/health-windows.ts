/**
 * Judges windows of calls, as the comment of the recovery tracker defines them. Pure functions of counts.
 *
 * Why a window needs ten calls, and may have one that fails: of ten calls that normally succeed in 99 of 100
 * cases, two fail in one window of 230, and of ten calls that succeed in half of the cases at most one fails
 * in one window of 93. With fewer calls a window would be a matter of chance; leaving it out would hide a
 * client that calls rarely and always fails.
 */
/** A window is at least this long, and longer until it has MIN_CALLS calls. */
export const WINDOW_MS = 5_000
const MIN_CALLS = 10

/** Good: at least this fraction of the share before the first fault. */
const GOOD = 0.95
/** Standard deviations of the number of successes by which a window may fall short of that. */
const CHANCE = 3

/** The calls that started in a period and have ended, and how many of them succeeded in time. */
export interface Counts {
	readonly ended: number
	readonly good: number
}

/** Returns whether as many calls succeed as before. `tolerated` calls may fail in any case. */
function isGood({ ended, good }: Counts, normalShare: number, tolerated: number): boolean {
	const expected = GOOD * normalShare * ended
	const chance = CHANCE * Math.sqrt(normalShare * (1 - normalShare) * ended)
	return ended - good <= Math.max(tolerated, ended - expected + chance + 1e-9)
}

/** Returns the normal share of good calls. It is 1 if no call succeeded: such calls could not succeed again. */
const normalShare = ({ ended, good }: Counts): number => (good === 0 ? 1 : good / ended)

/** Returns whether calls succeed as often as those before the first fault. */
export const succeedAsBefore = (calls: Counts, before: Counts): boolean =>
	calls.ended > 0 && isGood(calls, normalShare(before), 0)

export interface HealthInput {
	/** Calls by the step in which they started, from the end of the fault on: all, those that have ended, and the good ones. */
	readonly started: ArrayLike<number>
	readonly ended: ArrayLike<number>
	readonly good: ArrayLike<number>
	readonly stepMs: number
	/** Time from the end of the fault to the end of the run, or to the next fault. */
	readonly lengthMs: number
	/** Calls that have been in flight for longer count as failed. */
	readonly patienceMs: number
	/** Calls before the first fault. */
	readonly before: Counts
	/** No calls will follow, so a window may be shorter. */
	readonly isOver: boolean
	/** A judgement of finer steps, before they were merged. Its windows are not judged again: longer ones could fail. */
	readonly earlier?: Judgement | undefined
}

/**
 * The time from which on every window is good, or that calls still fail (`'failing'`), or that the period is
 * too short to tell (`'too-short'`).
 */
export type Health = number | 'failing' | 'too-short'

export interface Judgement {
	readonly health: Health
	/** From this time on no window is bad. */
	readonly startMs: number
	/** Whether a good call followed. */
	readonly isStarted: boolean
	/** Windows that start earlier are judged, whatever happens to calls in flight. */
	readonly judgedMs: number
}

/** Returns since when new calls are healthy. */
export function judgeHealth(input: HealthInput): Judgement {
	const { stepMs, lengthMs, isOver, earlier } = input
	const normal = normalShare(input.before)
	// No calls started in steps that do not exist yet.
	const length = Math.min(Math.ceil(lengthMs / stepMs), input.started.length)
	const overdue = Math.max(0, Math.floor((lengthMs - input.patienceMs) / stepMs))
	const endedAt = (step: number) => (step < overdue ? input.started : input.ended)[step] ?? 0
	const started = runningSums(length, (step) => input.started[step] ?? 0)
	const ended = runningSums(length, endedAt)
	const good = runningSums(length, (step) => input.good[step] ?? 0)
	const between = (sums: Float64Array, from: number, to: number) => (sums[to] ?? 0) - (sums[from] ?? 0)
	const areGood = (of: Float64Array, from: number, to: number, tolerated: number): boolean =>
		isGood({ ended: between(of, from, to), good: between(good, from, to) }, normal, tolerated)
	const fits = (from: number, to: number): boolean => {
		const calls = between(ended, from, to)
		if (isOver) return calls > 0 && calls >= Math.min(MIN_CALLS, between(ended, 0, length))
		return calls >= MIN_CALLS && (to < length ? to * stepMs : lengthMs) - from * stepMs >= WINDOW_MS
	}

	// Where failures take longer than successes, the newest calls that have ended are the good ones. So a
	// window is certain only before the first call in flight.
	let settled = 0
	while (settled < length && (input.started[settled] ?? 0) === endedAt(settled)) settled++

	let [lastBad, judged] = [-1, Math.ceil((earlier?.judgedMs ?? 0) / stepMs)]
	for (let from = judged, to = 0; from < length && fits(from, length); from++) {
		to = Math.max(to, Math.min(length, from + Math.ceil(WINDOW_MS / stepMs)))
		while (to < length && between(ended, from, to) < MIN_CALLS) to++
		if (!areGood(ended, from, to, 1)) lastBad = from
		if (to <= settled) judged = from + 1
	}

	// From there on every window is good. The recovery is the first step that is good itself, with a good rest
	// of the period.
	let startMs = lastBad < 0 ? (earlier?.startMs ?? 0) : (lastBad + 1) * stepMs
	let isStarted = lastBad < 0 && earlier?.isStarted === true
	const startsWell = () => areGood(ended, Math.ceil(startMs / stepMs), length, 1)
	if (!isStarted || !startsWell()) {
		isStarted = false
		for (let step = Math.ceil(startMs / stepMs); step < length && !isStarted; step++) {
			if (between(ended, step, step + 1) === 0) continue
			isStarted = areGood(ended, step, step + 1, 0) && startsWell()
			if (!isStarted) startMs = (step + 1) * stepMs
		}
	}
	const judgement = { startMs, isStarted, judgedMs: judged * stepMs }
	const start = Math.ceil(startMs / stepMs)
	// A window must fit before the first call in flight, or be good even if all calls in flight fail.
	if (fits(start, settled) || (fits(start, length) && areGood(started, start, length, 0)))
		return { ...judgement, health: startMs }
	// Calls still fail if the last window is bad, and its newer half is bad too.
	const isFailing = (to: number): boolean => {
		let from = to
		while (from >= 0 && !fits(from, to)) from--
		if (from < 0 || areGood(ended, from, to, 1)) return false
		let half = (from + to) >> 1
		while (half > from && between(ended, half, to) < MIN_CALLS / 2) half--
		return !areGood(ended, half, to, 0)
	}
	return { ...judgement, health: isFailing(length) || isFailing(settled) ? 'failing' : 'too-short' }
}

/** Sums of the first 0, 1, 2, ... steps. */
function runningSums(length: number, valueAt: (step: number) => number): Float64Array {
	const sums = new Float64Array(length + 1)
	for (let step = 0; step < length; step++) sums[step + 1] = (sums[step] ?? 0) + valueAt(step)
	return sums
}

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
			started: this.#started,
			ended: this.#ended,
			good: this.#good,
			stepMs: this.#stepMs,
			before,
			lengthMs,
			patienceMs,
			isOver,
			earlier: this.#earlier,
		})
	}
}
