/** Starts a client's calls at the times that its `arrivals` describe. */
import { exponential, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Arrivals } from '../scenario/scenario.ts'

/** Starts a call of the given user, and calls `onEnd` when it is over. */
export type StartCall = (user: number, onEnd?: () => void) => void

export function scheduleCalls(arrivals: Arrivals, path: string, loop: EventLoop, call: StartCall): void {
	if (arrivals.kind === 'trace') trace(loop, call, arrivals.atMs)
	else if (arrivals.kind === 'closed') closed(loop, call, path, arrivals)
	else atRate(loop, call, path, arrivals)
}

function atRate(
	loop: EventLoop,
	call: StartCall,
	path: string,
	{ kind, perSecond, fromMs = 0, toMs = Infinity }: Extract<Arrivals, { perSecond: number }>,
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
	const { users, think = 0, startWithinMs = 0, callsEach = Infinity } = model
	for (let user = 0; user < users; user++) {
		const thinkTime =
			typeof think === 'number' ? () => think : sampler(think, loop.stream(`${path} user ${user}`))
		let left = callsEach
		// Through an event even without think time: calls that fail immediately would otherwise loop endlessly.
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
	return now >= (arrivals.toMs ?? Infinity)
}
