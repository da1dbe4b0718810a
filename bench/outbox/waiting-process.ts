/** Claims from two queues of one database in turns: one with only due messages, and one with many more that are due tomorrow. */
import pg from 'pg'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import { answering } from './answering.ts'
import { BATCH, bodies, committed, nanoseconds } from './peer.ts'
import { message } from './peers/yaoki.ts'
import { inTurns, type Turn } from './rounds.ts'

const OWNER = 'bench'
const TOMORROW_MS = 86_400_000
const CLAIMS = 3
const LOOKS = 30

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })

interface Queue {
	readonly name: string
	readonly schema: string
	readonly store: ReturnType<typeof postgresOutboxStore>
	readonly outbox: Outbox
}

async function open(name: string): Promise<Queue> {
	const store = postgresOutboxStore({ client: pool, schema: name })
	const outbox = new Outbox({ store })
	await outbox.migrate()
	return { name, schema: name, store, outbox }
}

async function enqueue({ outbox }: Queue, count: number, notBefore?: Date): Promise<void> {
	const messages = bodies(0, count).map((body) => ({ ...message(body), ...(notBefore && { notBefore }) }))
	await committed(pool, (tx) => outbox.enqueue(messages, { tx }))
}

/** Always a full scan: the lower bound of a relay would avoid the rows in question. */
const REQUEST: Parameters<OutboxStore['claim']>[0] = {
	owner: OWNER,
	leaseMs: 60_000,
	targets: [{ destination: 'jobs', limit: BATCH, since: 0, isOrdered: false, isProbe: false }],
	poisonCandidates: false,
	poisonAfter: 3,
}

async function timedClaim({ store }: Queue, expected: number): Promise<number> {
	const startedAt = nanoseconds()
	const { rows } = await store.claim(REQUEST)
	const taken = nanoseconds() - startedAt
	if (rows.length !== expected) throw new Error(`expected ${expected} claimed messages, got ${rows.length}`)
	const sent = rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
	if (sent.length) await store.settle(OWNER, sent, false)
	return taken
}

/** Returns the duration of a claim of 1,000 messages in milliseconds. */
const claiming = (queue: Queue): Turn => ({
	name: queue.name,
	async run() {
		for (let i = 0; i < CLAIMS; i++) await enqueue(queue, BATCH)
		let taken = 0
		for (let i = 0; i < CLAIMS; i++) taken += await timedClaim(queue, BATCH)
		await pool.query(`vacuum ${queue.schema}.outbox`)
		return taken / CLAIMS / 1e6
	},
})

/** Returns the duration of an empty claim in milliseconds. */
const looking = (queue: Queue): Turn => ({
	name: queue.name,
	async run() {
		let taken = 0
		for (let i = 0; i < LOOKS; i++) taken += await timedClaim(queue, 0)
		return taken / LOOKS / 1e6
	},
})

const queues = [await open('empty'), await open('waiting')]

answering(async ({ call, count }) => {
	if (call === 'fill') {
		const [, waiting] = queues
		const tomorrow = new Date(Date.now() + TOMORROW_MS)
		for (let done = 0; waiting && done < count; done += 5 * BATCH) await enqueue(waiting, 5 * BATCH, tomorrow)
		await pool.query('vacuum analyze')
		return { nanoseconds: 0 }
	}
	const turns = queues.map(call === 'drain' ? claiming : looking)
	await inTurns(turns, 3)
	return { nanoseconds: 0, taken: Object.fromEntries(await inTurns(turns, count)) }
})
