/** A service without clients, and its responses. */
import type { ServerModel } from 'yaoki/sim'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'
import { ServiceMeter } from '../../../src/sim/measure/service-meter.ts'
import { TimelineBins } from '../../../src/sim/measure/timeline-bins.ts'
import { Request } from '../../../src/sim/model/request.ts'
import { Server } from '../../../src/sim/model/server.ts'

/** Returns how a request ended: `ok`, a status or a code. */
function wordFor(error: unknown): string {
	if (error === undefined || error === null) return 'ok'
	const { statusCode, code } = Object(error)
	return String(statusCode ?? code)
}

/**
 * Sends named requests at given times, and returns one line per response, in order: `'a ok at 10'`.
 *
 * @example
 * serve({ serviceTimeMs: 10 }, { a: 0, b: 5 }) // => ['a ok at 10', 'b ok at 20']
 */
export function serve(model: Partial<ServerModel>, arrivals: Readonly<Record<string, number>>): string[] {
	const loop = new EventLoop(1, 1e6)
	const meter = new ServiceMeter(new TimelineBins(100))
	const server = new Server(loop, 'api', { serviceTimeMs: 10, ...model }, meter, undefined)
	const replies: string[] = []
	for (const [name, at] of Object.entries(arrivals))
		loop.after(at, () =>
			server.send(new Request(server, (error) => replies.push(`${name} ${wordFor(error)} at ${loop.now()}`))),
		)
	loop.run(Infinity)
	return replies
}
