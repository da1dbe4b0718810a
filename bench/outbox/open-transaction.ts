/**
 * A report, a backup or an idle session that holds a snapshot keeps every dead row of the queue, and scans from the start read more and more of them.
 * Here the transaction is open from before the first message is written until the last one is sent.
 */
import pg from 'pg'
import { column, type Report } from '../figure.ts'
import type { Child } from './child.ts'
import { YAOKI } from './peers/index.ts'
import { inTurns, middle, perSecond, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const MESSAGES = 200_000
const ROUNDS = 3
const ALONE = 'no transaction is open'
const HELD = 'a transaction is held open'

async function drainRate(child: Child, count: number): Promise<number> {
	await child.ask('fill', count)
	return (count / (await child.ask('drain', count)).nanoseconds) * 1e9
}

/** The first query takes the snapshot, not BEGIN. */
async function holding<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
	const client = new pg.Client({ connectionString: url })
	await client.connect()
	try {
		await client.query('begin isolation level repeatable read')
		await client.query('select count(*) from yaoki.outbox')
		const result = await work()
		await client.query('commit')
		return result
	} finally {
		await client.end()
	}
}

export function outboxOpenTransaction(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender(YAOKI)
		if (!child) throw new Error('PostgreSQL is not available')
		const count = scaled(MESSAGES)
		await drainRate(child, scaled(10_000))
		const taken = await inTurns(
			[
				{
					name: ALONE,
					async run() {
						await child.ask('tidy')
						return drainRate(child, count)
					},
				},
				{
					name: HELD,
					async run() {
						await child.ask('tidy')
						return holding(servers.urlOf(YAOKI), () => drainRate(child, count))
					},
				},
			],
			ROUNDS,
		)
		const drop = 1 - toGreatest(taken, HELD, [ALONE])
		const percent = `${(100 * drop).toFixed(1)} %`
		return {
			title: `Outbox: ${count.toLocaleString('en-US')} messages drained while a snapshot is held (${servers.about})`,
			lines: [ALONE, HELD].map((name) => column(name, perSecond(middle(taken, name)))),
			figures: [
				{
					figure: 'outbox, loss of throughput by an open transaction',
					asked: 'less than 15 %',
					measured: percent,
					reached: drop < 0.15,
				},
			],
			data: Object.fromEntries(taken),
		}
	})
}
