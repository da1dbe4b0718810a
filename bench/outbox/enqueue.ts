/** The cost of enqueue in the user's transaction, compared to a bare INSERT of the same row and to other queues. */
import { column, type Report } from '../figure.ts'
import type { Child } from './child.ts'
import {
	BARE,
	BARE_ARRAYS,
	BARE_JSON,
	BARE_VALUES,
	BULLMQ_POSTGRES,
	BULLMQ_REDIS,
	GRAPHILE,
	PG_BOSS,
	YAOKI,
} from './peers/index.ts'
import { inTurns, middle, perSecond, type Taken, type Turn, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const ROUNDS = 15
const PEER_ROUNDS = 3
const PEERS = [YAOKI, GRAPHILE, PG_BOSS, BULLMQ_REDIS, BULLMQ_POSTGRES]
const EACH = 300
const BATCHED = 5_000
const BARE_BATCHES = [BARE_VALUES, BARE_ARRAYS, BARE_JSON]

async function takenBy(child: Child, call: 'enqueueEach' | 'fill'): Promise<Taken> {
	const { taken = {} } = await child.ask(call, ROUNDS)
	return new Map(Object.entries(taken))
}

function enqueuing(child: Child, call: 'enqueueEach' | 'fill', count: number): Turn {
	return {
		name: child.name,
		async run() {
			await child.ask('tidy')
			return (count / (await child.ask(call, count)).nanoseconds) * 1e9
		},
	}
}

const linesOf = (taken: Taken, against: readonly string[]): string[] =>
	[...taken.keys()].map((name) =>
		column(name, perSecond(middle(taken, name)), `${toGreatest(taken, name, against).toFixed(2)} of bare`),
	)

export function outboxEnqueue(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('enqueue', './enqueue-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		const one = await takenBy(child, 'enqueueEach')
		const batched = await takenBy(child, 'fill')
		const [toOne, toBatched] = [toGreatest(one, YAOKI, [BARE]), toGreatest(batched, YAOKI, BARE_BATCHES)]
		await child.end()

		const peers = await servers.contenders(PEERS)
		const peersEach = await inTurns(
			peers.map((peer) => enqueuing(peer, 'enqueueEach', EACH)),
			PEER_ROUNDS,
		)
		const peersBatched = await inTurns(
			peers.map((peer) => enqueuing(peer, 'fill', scaled(BATCHED))),
			PEER_ROUNDS,
		)
		return {
			title: `Outbox: messages enqueued per second in the user's transaction (${servers.about})`,
			lines: [
				'one at a time, many per transaction:',
				...linesOf(one, [BARE]),
				'1,000 at a time, 10 in a transaction:',
				...linesOf(batched, BARE_BATCHES),
				'other queues (BullMQ outside a transaction), one at a time and 1,000 at a time:',
				...peers.map(({ name }) =>
					column(name, perSecond(middle(peersEach, name)), perSecond(middle(peersBatched, name))),
				),
				...PEERS.filter((name) => !peersEach.has(name)).map((name) =>
					column(name, 'not measured: its server is not installed'),
				),
			],
			figures: [
				{
					figure: 'outbox, enqueue one at a time, relative to a bare INSERT of the same row',
					asked: 'at least 0.75',
					measured: toOne.toFixed(2),
					reached: toOne >= 0.75,
				},
				{
					figure: 'outbox, enqueue 1,000 at a time, relative to the fastest bare INSERT',
					asked: 'at least 0.85',
					measured: toBatched.toFixed(2),
					reached: toBatched >= 0.85,
				},
			],
			data: {
				one: Object.fromEntries(one),
				batched: Object.fromEntries(batched),
				peersEach: Object.fromEntries(peersEach),
				peersBatched: Object.fromEntries(peersBatched),
			},
		}
	})
}
