/** Starts a client's calls at the times that its `arrivals` describe. */
import { exponential, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Arrivals } from '../scenario/scenario.ts'

/** Starts a call of the given user, and calls `onEnd` when it is over. */
export type StartCall = (user: number, onEnd?: () => void) => void

export function scheduleCalls(arrivals: Arrivals, path: string, loop: EventLoop, call: StartCall): void {
	if (arrivals.kind === 'poisson') poisson(loop, call, path, arrivals)
	else if (arrivals.kind === 'constant') constant(loop, call, arrivals)
	else if (arrivals.kind === 'trace') trace(loop, call, arrivals.atMs)
	else closed(loop, call, path, arrivals)
}

interface Window {
	readonly fromMs?: number | undefined
	readonly toMs?: number | undefined
}

function repeat(
	loop: EventLoop,
	call: StartCall,
	gap: Sampler,
	first: number,
	{ fromMs = 0, toMs = Infinity }: Window,
): void {
	let index = 0
	const arrive = () => {
		if (loop.now() >= toMs) return
		loop.after(gap(), arrive)
		call(index++)
	}
	loop.after(fromMs + first, arrive)
}

function poisson(
	loop: EventLoop,
	call: StartCall,
	path: string,
	model: Extract<Arrivals, { kind: 'poisson' }>,
): void {
	const gap = exponential(1_000 / model.perSecond, loop.stream(`${path} arrivals`))
	repeat(loop, call, gap, gap(), model)
}

/** Each time is computed from the call's index, not from the call before, so that rounding errors do not add up. */
function constant(
	loop: EventLoop,
	call: StartCall,
	{ perSecond, fromMs = 0, toMs = Infinity }: Window & { perSecond: number },
): void {
	let index = 0
	const gap = () => Math.max(0, fromMs + (++index * 1_000) / perSecond - loop.now())
	repeat(loop, call, gap, 0, { fromMs, toMs })
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
