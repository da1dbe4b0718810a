/** When calls begin: what tells a client to make its next one. */
import { exponential, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Arrivals } from '../scenario/scenario.ts'

/** Makes a call as the `user`-th of the client's users, and says when it is over. */
export type MakeCall = (user: number, onEnd?: () => void) => void

export function schedule(arrivals: Arrivals, path: string, world: EventLoop, call: MakeCall): void {
	if (arrivals.kind === 'poisson') byChance(world, call, path, arrivals)
	else if (arrivals.kind === 'constant') evenly(world, call, arrivals)
	else if (arrivals.kind === 'trace') trace(world, call, arrivals.atMs)
	else closed(world, call, path, arrivals)
}

interface Window {
	readonly fromMs?: number | undefined
	readonly toMs?: number | undefined
}

function repeat(
	world: EventLoop,
	call: MakeCall,
	gap: Sampler,
	first: number,
	{ fromMs = 0, toMs = Infinity }: Window,
): void {
	let index = 0
	const arrive = () => {
		if (world.now() >= toMs) return
		world.after(gap(), arrive)
		call(index++)
	}
	world.after(fromMs + first, arrive)
}

function byChance(
	world: EventLoop,
	call: MakeCall,
	path: string,
	model: Extract<Arrivals, { kind: 'poisson' }>,
): void {
	const gap = exponential(1_000 / model.perSecond, world.stream(`${path} arrivals`))
	repeat(world, call, gap, gap(), model)
}

/** Each by its number and not from the one before, so that a thousand seconds are a thousand seconds. */
function evenly(
	world: EventLoop,
	call: MakeCall,
	{ perSecond, fromMs = 0, toMs = Infinity }: Window & { perSecond: number },
): void {
	let index = 0
	const gap = () => Math.max(0, fromMs + (++index * 1_000) / perSecond - world.now())
	repeat(world, call, gap, 0, { fromMs, toMs })
}

function trace(world: EventLoop, call: MakeCall, atMs: readonly number[]): void {
	let index = 0
	const next = () => {
		const at = atMs[index]
		if (at === undefined) return
		world.after(at - world.now(), () => {
			const user = index++
			next()
			call(user)
		})
	}
	next()
}

type Closed = Extract<Arrivals, { kind: 'closed' }>

function closed(world: EventLoop, call: MakeCall, path: string, model: Closed): void {
	const { users, think = 0, startWithinMs = 0, callsEach = Infinity } = model
	for (let user = 0; user < users; user++) {
		const thinking =
			typeof think === 'number' ? () => think : sampler(think, world.stream(`${path} user ${user}`))
		let left = callsEach
		// By way of an event, however short the thought: calls that fail at once would be a loop that nobody can end.
		const next = () => {
			if (--left > 0) world.after(thinking(), begin)
		}
		const begin = () => call(user, next)
		world.after((startWithinMs * user) / users, begin)
	}
}
