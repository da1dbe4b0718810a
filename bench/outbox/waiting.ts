/** The cost of a million messages that are due tomorrow for claims of messages that are due now. */
import { column, type Report, times } from '../figure.ts'
import { middle, type Taken, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const WAITING = 1_000_000
const ROUNDS = 15

const linesOf = (taken: Taken): string[] =>
	[...taken.keys()].map((name) =>
		column(
			name === 'empty'
				? 'nothing else in the table'
				: `${scaled(WAITING).toLocaleString('en-US')} due tomorrow`,
			`${middle(taken, name).toFixed(2)} ms`,
			times(toGreatest(taken, name, ['empty'])),
		),
	)

export function outboxWaiting(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('waiting', './waiting-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		await child.ask('fill', scaled(WAITING))
		const claims: Taken = new Map(Object.entries((await child.ask('drain', ROUNDS)).taken ?? {}))
		const looks: Taken = new Map(Object.entries((await child.ask('handledAt', ROUNDS)).taken ?? {}))
		const figureOf = (what: string, taken: Taken) => {
			const ratio = toGreatest(taken, 'waiting', ['empty'])
			return {
				figure: `outbox, ${what} with a million scheduled messages, relative to an empty table`,
				asked: 'at most 1.20 x',
				measured: times(ratio),
				reached: ratio <= 1.2,
			}
		}
		return {
			title: `Outbox: duration of a claim with messages that are due later (${servers.about})`,
			lines: ['a claim of 1,000 due messages:', ...linesOf(claims), 'an empty claim:', ...linesOf(looks)],
			figures: [figureOf('a claim of 1,000', claims), figureOf('an empty claim', looks)],
			data: { claims: Object.fromEntries(claims), looks: Object.fromEntries(looks) },
		}
	})
}
