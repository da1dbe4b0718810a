/** Validates when calls start. */
import { invalidOption } from '../../core/options/schema.ts'
import type { ArrivalCurve, Arrivals } from './arrivals-model.ts'
import {
	amount,
	byKind,
	count,
	duration,
	fields,
	inOrder,
	kind,
	list,
	oneOf,
	positiveTime,
	rate,
	type Shape,
	time,
	withPeriod,
} from './shape.ts'

/** Bounded by memory. */
const MAX_USERS = 1e6

const rateOrZero = amount(0, 1e9)
const span = { 'fromMs?': time, 'toMs?': time }
const atRate = withPeriod(fields({ kind, perSecond: rate, ...span }))
const bursts = fields({
	kind,
	perSecond: rateOrZero,
	burstPerSecond: rate,
	everyMs: positiveTime,
	lastsMs: positiveTime,
	...span,
})

export const arrivalsShape: Shape = byKind({
	poisson: atRate,
	constant: atRate,
	curve: withPeriod(
		fields({
			kind,
			points: list(fields({ atMs: time, perSecond: rateOrZero }), 1),
			'interpolation?': oneOf('linear', 'steps'),
			'repeatEveryMs?': positiveTime,
			'spacing?': oneOf('random', 'even'),
			...span,
		}),
	),
	bursts: inOrder(inOrder(withPeriod(bursts), 'perSecond', 'burstPerSecond'), 'lastsMs', 'everyMs', 'more'),
	trace: fields({ kind, atMs: list(time) }),
	closed: fields({
		kind,
		users: count(1, MAX_USERS),
		'thinkMs?': duration,
		'startWithinMs?': time,
		'callsEach?': count(1),
	}),
})

export function checkArrivals(path: string, arrivals: Arrivals): void {
	if (arrivals.kind === 'trace') checkAscending(arrivals.atMs, (index) => `${path}.atMs[${index}]`)
	if (arrivals.kind === 'curve') checkCurve(path, arrivals)
}

function checkCurve(path: string, { points, repeatEveryMs }: ArrivalCurve): void {
	checkAscending(
		points.map(({ atMs }) => atMs),
		(index) => `${path}.points[${index}].atMs`,
	)
	const lastMs = points.at(-1)?.atMs ?? 0
	if (repeatEveryMs !== undefined && repeatEveryMs < lastMs)
		invalidOption(`${path}.repeatEveryMs`, repeatEveryMs, `at least the time of the last point, ${lastMs}`)
	if (points.every(({ perSecond }) => perSecond === 0))
		invalidOption(`${path}.points`, points, 'at least one rate above 0')
}

function checkAscending(times: readonly number[], pathOf: (index: number) => string): void {
	for (const [index, at] of times.entries())
		if (at < (times[index - 1] ?? 0)) invalidOption(pathOf(index), at, 'times in ascending order')
}

/** Returns true if the calls never end by themselves. */
export function isEndless(arrivals: Arrivals): boolean {
	if (arrivals.kind === 'closed') return (arrivals.callsEach ?? Infinity) === Infinity
	if (arrivals.kind === 'trace' || arrivals.toMs !== undefined) return false
	return arrivals.kind !== 'curve' || endOfCurve(arrivals) === Infinity
}

/** Returns the time from which on the rate is 0; Infinity if the curve repeats, or ends with another rate. */
export function endOfCurve({ points, repeatEveryMs }: ArrivalCurve): number {
	const last = points.at(-1)
	return last?.perSecond === 0 && repeatEveryMs === undefined ? last.atMs : Infinity
}
