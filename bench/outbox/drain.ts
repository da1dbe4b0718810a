/**
 * Throughput of one process that drains a full queue with a no-op handler until all messages are acked. Every contender has its own process and
 * database on one server, and they run one at a time; a round runs each once, and ratios are computed within a round.
 */
import { column, type Figure, type Report } from '../figure.ts'
import type { Child } from './child.ts'
import {
	BULLMQ_POSTGRES,
	BULLMQ_REDIS,
	GRAPHILE,
	PG_BOSS,
	QUEUES,
	RAW,
	RAW_AT_ONCE,
	RAW_ONE_BY_ONE,
	RAW_SQLITE,
	YAOKI,
	YAOKI_ONE_KEY,
	YAOKI_SQLITE,
} from './peers/index.ts'
import { inTurns, middle, perSecond, type Turn, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const MESSAGES = 50_000
const ROUNDS = 3

/** Slow contenders get fewer messages, which give the same rate. */
const FEWER: Readonly<Record<string, number>> = {
	[YAOKI_ONE_KEY]: 10_000,
	[RAW_ONE_BY_ONE]: 10_000,
	[BULLMQ_REDIS]: 5_000,
	[BULLMQ_POSTGRES]: 1_000,
}

const CONTENDERS = [
	RAW,
	RAW_AT_ONCE,
	YAOKI,
	RAW_ONE_BY_ONE,
	YAOKI_ONE_KEY,
	GRAPHILE,
	PG_BOSS,
	BULLMQ_REDIS,
	BULLMQ_POSTGRES,
	RAW_SQLITE,
	YAOKI_SQLITE,
]

const messagesFor = (name: string): number => scaled(FEWER[name] ?? MESSAGES)

function drained(child: Child, filled: Map<string, number[]>): Turn {
	const count = messagesFor(child.name)
	return {
		name: child.name,
		async run() {
			await child.ask('tidy')
			const fill = await child.ask('fill', count)
			filled.get(child.name)?.push((count / fill.nanoseconds) * 1e9)
			return (count / (await child.ask('drain', count)).nanoseconds) * 1e9
		},
	}
}

export function outboxDrain(): Promise<Report> {
	return Servers.during(async (servers) => {
		const children = await servers.contenders(CONTENDERS)
		const filled = new Map(children.map(({ name }): [string, number[]] => [name, []]))
		const turns = children.map((child) => drained(child, filled))
		// Warm-up: the JIT has not run yet, and the server's files grow in the first round.
		for (const { name, ask } of children) {
			const few = Math.min(messagesFor(name), 10_000)
			await ask('fill', few)
			await ask('drain', few)
		}
		const taken = await inTurns(turns, ROUNDS)
		const lines = children.map(({ name }) =>
			column(
				name,
				perSecond(middle(taken, name)),
				`${toGreatest(taken, name, [RAW]).toFixed(2)} of raw`,
				`filled ${perSecond(middle(filled, name))}`,
			),
		)
		const missing = CONTENDERS.filter((name) => !taken.has(name))
		return {
			title: `Outbox: ${messagesFor(YAOKI).toLocaleString('en-US')} messages drained by one process (${servers.about})`,
			lines: [
				...lines,
				...missing.map((name) => column(name, 'not measured: its server is not installed')),
				...Object.keys(FEWER).map(
					(name) =>
						`${name} with ${messagesFor(name).toLocaleString('en-US')} messages, because of its duration`,
				),
			],
			figures: figuresOf(taken),
			data: { drained: Object.fromEntries(taken), filled: Object.fromEntries(filled) },
		}
	})
}

function figuresOf(taken: ReadonlyMap<string, readonly number[]>): Figure[] {
	const toPeers = toGreatest(
		taken,
		YAOKI,
		QUEUES.filter((name) => taken.has(name)),
	)
	const toRaw = toGreatest(taken, YAOKI, [RAW])
	const onSqlite = middle(taken, YAOKI_SQLITE)
	const ofOneKey = middle(taken, YAOKI_ONE_KEY)
	return [
		{
			figure: 'outbox, drain on PostgreSQL, relative to the fastest peer',
			asked: 'at least 1.4',
			measured: toPeers.toFixed(2),
			reached: toPeers >= 1.4,
		},
		{
			figure: 'outbox, drain on PostgreSQL, relative to raw claim + delete',
			asked: 'at least 1.15',
			measured: toRaw.toFixed(2),
			reached: toRaw >= 1.15,
		},
		{
			figure: 'outbox, drain of one key in order on PostgreSQL',
			asked: 'at least 1,000 msg/s',
			measured: `${perSecond(ofOneKey)}, ${toGreatest(taken, YAOKI_ONE_KEY, [RAW_ONE_BY_ONE]).toFixed(2)} of a raw loop with a commit per message`,
			reached: ofOneKey >= 1_000,
		},
		{
			figure: 'outbox, drain on SQLite',
			asked: 'at least 110,000 msg/s',
			measured: `${perSecond(onSqlite)}, ${toGreatest(taken, YAOKI_SQLITE, [RAW_SQLITE]).toFixed(2)} of raw claim + delete there`,
			reached: onSqlite >= 110_000,
		},
	]
}
