/** Throughput of one relay that sends to an HTTP receiver in another process: one message per request, and a batch per request. */
import { column, type Report } from '../figure.ts'
import { middle, perSecond, type Taken, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const MESSAGES = 20_000
const NEEDED = 3

/** The names of the contenders in the process. */
export const SINGLE = 'httpDestination, one message per request'
export const BATCHES = 'batchDestination, batches of 100'

export function outboxBatches(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('batches', './batches-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		const count = scaled(MESSAGES)
		const taken: Taken = new Map(Object.entries((await child.ask('drain', count)).taken ?? {}))
		const ratio = toGreatest(taken, BATCHES, [SINGLE])
		return {
			title: `Outbox: ${count.toLocaleString('en-US')} messages to a loopback receiver (${servers.about})`,
			lines: [SINGLE, BATCHES].map((name) => column(name, perSecond(middle(taken, name)))),
			figures: [
				{
					figure: 'outbox, batches of 100 against a loopback receiver, relative to single messages',
					asked: `at least ${NEEDED}`,
					measured: ratio.toFixed(2),
					reached: ratio >= NEEDED,
				},
			],
			data: Object.fromEntries(taken),
		}
	})
}
