/**
 * Throughput of one relay that drains ordered messages while the statistics say something else than what the table contains: PostgreSQL analyzes a queue
 * when it is empty, and plans bursts with that.
 */
import { column, type Report } from '../figure.ts'
import { middle, perSecond, type Taken } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const MESSAGES = 50_000
const NEEDED = 8_000

const STATES: Readonly<Record<string, string>> = {
	fresh: 'analyzed with all messages',
	empty: 'analyzed while empty',
	stale: 'analyzed with 20 messages',
	burst: 'analyzed while empty, live traffic',
}

export function outboxOrdered(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('ordered', './ordered-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		const count = scaled(MESSAGES)
		const taken: Taken = new Map(Object.entries((await child.ask('drain', count)).taken ?? {}))
		return {
			title: `Outbox: ${count.toLocaleString('en-US')} ordered messages over 2,000 keys, by the state of the statistics (${servers.about})`,
			lines: Object.entries(STATES).map(([state, what]) => column(what, perSecond(middle(taken, state)))),
			figures: Object.entries(STATES).map(([state, what]) => ({
				figure: `outbox, drain of ordered messages on PostgreSQL, ${what}`,
				asked: `at least ${perSecond(NEEDED)}`,
				measured: perSecond(middle(taken, state)),
				reached: middle(taken, state) >= NEEDED,
			})),
			data: Object.fromEntries(taken),
		}
	})
}
