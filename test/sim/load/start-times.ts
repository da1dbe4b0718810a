/** When the calls of arrivals start. */
import type { Arrivals } from 'yaoki/sim'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'
import { scheduleCalls } from '../../../src/sim/load/arrivals.ts'

/** Returns the times of the calls before `untilMs`. */
export function startTimes(arrivals: Arrivals, untilMs: number, seed = 5): readonly number[] {
	const loop = new EventLoop(seed, 1e7)
	const times: number[] = []
	scheduleCalls(arrivals, 'clients.web', loop, () => times.push(loop.now()))
	loop.run(untilMs)
	return times
}
