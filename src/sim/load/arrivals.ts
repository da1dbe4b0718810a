/** Starts a client's calls at the times that its `arrivals` describe. */
import { exponential, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { ArrivalBursts, ArrivalCurve, Arrivals } from '../scenario/arrivals-model.ts'
import { endOfCurve } from '../scenario/check-arrivals.ts'
import { RateCurve } from './rate-curve.ts'

/** Starts a call of the given user, and calls `onEnd` when it is over. */
export type StartCall = (user: number, onEnd?: () => void) => void

export function scheduleCalls(arrivals: Arrivals, path: string, loop: EventLoop, call: StartCall): void {
	if (arrivals.kind === 'trace') trace(loop, call, arrivals.atMs)
	else if (arrivals.kind === 'closed') closed(loop, call, path, arrivals)
	else if (arrivals.kind === 'curve') alongCurve(loop, call, path, arrivals)
	else if (arrivals.kind === 'bursts') inBursts(loop, call, path, arrivals)
	else atRate(loop, call, path, arrivals)
}

function atRate(
	loop: EventLoop,
	call: StartCall,
	path: string,
	{ kind, perSecond, fromMs = 0, toMs = Infinity }: Extract<Arrivals, { kind: 'poisson' | 'constant' }>,
): void {
	let index = 0
	// At equal intervals, each time is computed from the call's index, so that rounding errors do not add up.
	const gap: Sampler =
		kind === 'poisson'
			? exponential(1_000 / perSecond, loop.stream(`${path} arrivals`))
			: () => Math.max(0, fromMs + ((index + 1) * 1_000) / perSecond - loop.now())
	const arrive = () => {
		if (loop.now() >= toMs) return
		loop.after(gap(), arrive)
		call(index++)
	}
	loop.after(fromMs + (kind === 'poisson' ? gap() : 0), arrive)
}

function alongCurve(loop: EventLoop, call: StartCall, path: string, model: ArrivalCurve): void {
	const { fromMs = 0, toMs = Infinity, spacing } = model
	const curve = new RateCurve(model)
	const isEven = spacing === 'even'
	const step: Sampler = isEven ? () => 1 : exponential(1, loop.stream(`${path} arrivals`))
	let index = 0
	const schedule = (calls: number) => {
		const at = Math.max(fromMs, curve.next(calls))
		if (at < toMs) loop.after(Math.max(0, at - loop.now()), arrive)
	}
	const arrive = () => {
		schedule(step())
		call(index++)
	}
	schedule(isEven ? 0 : step())
}

/** The rate is constant between events: a call, or the start or end of a burst. */
function inBursts(loop: EventLoop, call: StartCall, path: string, model: ArrivalBursts): void {
	const { perSecond, burstPerSecond, everyMs, lastsMs, fromMs = 0, toMs = Infinity } = model
	const step = exponential(1_000, loop.stream(`${path} arrivals`))
	const random = loop.stream(`${path} bursts`)
	const length = exponential(1, random)
	let index = 0
	let [isBurst, endsAt, due] = [false, 0, step()]
	const begin = (withBurst: boolean) => {
		isBurst = withBurst
		endsAt = loop.now() + length() * (isBurst ? lastsMs : everyMs - lastsMs)
		proceed()
	}
	const proceed = () => {
		const now = loop.now()
		const rate = isBurst ? burstPerSecond : perSecond
		const area = Math.max(0, endsAt - now) * rate
		const at = due < area ? now + due / rate : endsAt
		if (at >= toMs) return
		loop.after(Math.max(0, at - now), () => {
			if (due < area) {
				due = step()
				proceed()
				call(index++)
			} else {
				due -= area
				begin(!isBurst)
			}
		})
	}
	// In the long run this share of the time is in a burst. Starting with it, the rate is the same at all
	// times.
	loop.after(fromMs, () => begin(random() < lastsMs / everyMs))
}

function trace(loop: EventLoop, call: StartCall, atMs: readonly number[]): void {
	let index = 0
	const next = () => {
		const at = atMs[index]
		if (at === undefined) return
		loop.after(at - loop.now(), () => {
			const user = index++
			next()
			call(user)
		})
	}
	next()
}

type Closed = Extract<Arrivals, { kind: 'closed' }>

function closed(loop: EventLoop, call: StartCall, path: string, model: Closed): void {
	const { users, thinkMs: think = 0, startWithinMs = 0, callsEach = Infinity } = model
	for (let user = 0; user < users; user++) {
		const thinkTime =
			typeof think === 'number' ? () => think : sampler(think, loop.stream(`${path} user ${user}`))
		let left = callsEach
		// The next call is an event even without think time: calls that fail immediately would loop endlessly.
		const next = () => {
			if (--left > 0) loop.after(thinkTime(), start)
		}
		const start = () => call(user, next)
		loop.after((startWithinMs * user) / users, start)
	}
}

/** Returns whether a client that has started `calls` calls will start no more. */
export function hasEnded(arrivals: Arrivals, calls: number, now: number): boolean {
	if (arrivals.kind === 'trace') return calls >= arrivals.atMs.length
	if (arrivals.kind === 'closed') return calls >= arrivals.users * (arrivals.callsEach ?? Infinity)
	const endMs = arrivals.kind === 'curve' ? endOfCurve(arrivals) : Infinity
	return now >= Math.min(arrivals.toMs ?? Infinity, endMs)
}
