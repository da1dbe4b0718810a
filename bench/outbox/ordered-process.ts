/** Drains ordered messages from queues whose statistics say something else than what the tables contain. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Outbox, postgresOutboxStore, Relay } from 'yaoki/outbox'
import { answering } from './answering.ts'
import { BATCH, bodies, committed, nanoseconds } from './peer.ts'
import { inTurns, type Turn } from './rounds.ts'

const TOPIC = 'jobs'
const KEYS = 2_000
const NEARLY_EMPTY = 20
const LIVE_MESSAGES = 200
const LIVE_EVERY_MS = 10
const BURST = 20_000
const ROUNDS = 3
/** A stalled drain is reported with what it sent until then. */
const PATIENCE_MS = 45_000

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })

interface Queue {
	readonly table: string
	readonly outbox: Outbox
	sent: number
}

/** Each turn has its own queue, because statistics and plans outlive their messages. */
let opened = 0
async function open(): Promise<Queue> {
	const schema = `ordered_${++opened}`
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool, schema }) })
	await outbox.migrate()
	return { table: `${schema}.outbox`, outbox, sent: 0 }
}

async function enqueue({ outbox }: Queue, from: number, to: number): Promise<void> {
	const messages = bodies(from, to).map((payload) => ({
		topic: TOPIC,
		key: `key ${payload.seq % KEYS}`,
		payload,
	}))
	await committed(pool, (tx) => outbox.enqueue(messages, { tx }))
}

async function fill(queue: Queue, count: number): Promise<void> {
	for (let from = 0; from < count; from += BATCH) await enqueue(queue, from, Math.min(from + BATCH, count))
}

async function during<Result>(queue: Queue, work: () => Promise<Result>): Promise<Result> {
	const deliver = () => {
		queue.sent++
	}
	const relay = new Relay(queue.outbox, { destinations: { [TOPIC]: { deliver, order: true } } })
	await relay.start()
	try {
		return await work()
	} finally {
		await relay.stop()
	}
}

/** Returns messages per second until `count` more are sent. */
async function rate(queue: Queue, count: number): Promise<number> {
	const startedAt = nanoseconds()
	const before = queue.sent
	while (queue.sent < before + count && nanoseconds() < startedAt + PATIENCE_MS * 1e6) await pause(1)
	return ((queue.sent - before) / (nanoseconds() - startedAt)) * 1e9
}

/** One message at a time, so that every statement has its cached plan. */
async function liveTraffic(queue: Queue, isOver: (sent: number) => boolean): Promise<void> {
	for (let seq = 0; !isOver(seq); seq++) {
		await enqueue(queue, seq, seq + 1)
		await pause(LIVE_EVERY_MS)
	}
}

const someTraffic = (queue: Queue): Promise<void> => liveTraffic(queue, (sent) => sent >= LIVE_MESSAGES)

/** Leaves pages, and statistics that say that there are no messages. */
async function analyzeEmpty(queue: Queue): Promise<void> {
	await during(queue, async () => {
		await fill(queue, BATCH)
		await rate(queue, BATCH)
	})
	await pool.query(`vacuum (analyze, truncate false) ${queue.table}`)
}

const STATES: Readonly<Record<string, (queue: Queue, count: number) => Promise<number>>> = {
	/** Analyzed with all messages in it. */
	async fresh(queue, count) {
		await fill(queue, count)
		await pool.query(`vacuum analyze ${queue.table}`)
		return during(queue, () => rate(queue, count))
	},
	/** Analyzed without messages. */
	async empty(queue, count) {
		await analyzeEmpty(queue)
		await during(queue, () => someTraffic(queue))
		await fill(queue, count)
		return during(queue, () => rate(queue, count))
	},
	/** Analyzed with few messages. */
	async stale(queue, count) {
		await fill(queue, NEARLY_EMPTY)
		await pool.query(`vacuum analyze ${queue.table}`)
		await during(queue, () => someTraffic(queue))
		await fill(queue, count)
		return during(queue, () => rate(queue, count))
	},
	/** Analyzed without messages, and the relay runs while other messages arrive. One transaction adds the burst, and the rate includes it. */
	async burst(queue, count) {
		await analyzeEmpty(queue)
		return during(queue, async () => {
			await someTraffic(queue)
			let isOver = false
			const live = liveTraffic(queue, () => isOver)
			const burst = Math.min(count, BURST)
			const [result] = await Promise.all([rate(queue, burst), enqueue(queue, 0, burst)])
			isOver = true
			await live
			return result
		})
	},
}

answering(async ({ count }) => {
	const turns = Object.entries(STATES).map(
		([name, drain]): Turn => ({ name, run: async () => drain(await open(), count) }),
	)
	return { nanoseconds: 0, taken: Object.fromEntries(await inTurns(turns, ROUNDS)) }
})
