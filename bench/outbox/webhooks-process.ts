/** Writes events for endpoints beside a plain batch, and delivers to endpoints of which some hang. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Outbox, postgresOutboxStore, Relay, Webhooks } from 'yaoki/outbox'
import { guard } from '../../test/guard/guard.ts'
import { answering } from './answering.ts'
import { bodies, committed, nanoseconds } from './peer.ts'
import { message } from './peers/yaoki.ts'
import { inTurns, type Turn } from './rounds.ts'
import { ALL_WORK, FAN_OUT, ONE_PERCENT_HANGS, PLAIN } from './webhooks.ts'

const ROUNDS = 9
const FAN_OUT_TO = 100
const ENDPOINTS = 1_000
const HANGING = 10

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })
const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
await outbox.migrate()

const receiver = guard(fork(fileURLToPath(new URL('./webhooks-receiver.ts', import.meta.url))))
process.on('disconnect', () => receiver.disconnect())
const [origin]: unknown[] = await once(receiver, 'message')
const port = Number(new URL(String(origin)).port)
const ssrfProtection = { allow: ['127.0.0.1'], allowHttp: true, ports: [port] }
const webhooks = new Webhooks(outbox, { ssrfProtection })

const create = (path: string, tenant: string) =>
	webhooks.endpoints.create({ url: `${origin}${path}`, topics: ['jobs'], tenant })
for (let n = 0; n < FAN_OUT_TO; n++) await create('/', 'fan-out')
for (let n = 0; n < ENDPOINTS - HANGING; n++) await create('/', 'all')
for (let n = 0; n < HANGING; n++) {
	await create('/', 'working')
	await create('/hang', 'hanging')
}
await pool.query('vacuum analyze')

const [body] = bodies(0, 1)

/** Returns rows per second. */
async function write(name: typeof PLAIN | typeof FAN_OUT, count: number): Promise<number> {
	const transactions = Math.ceil(count / FAN_OUT_TO)
	const startedAt = nanoseconds()
	for (let n = 0; n < transactions; n++)
		await committed(pool, (tx) =>
			name === PLAIN
				? outbox.enqueue(bodies(0, FAN_OUT_TO).map(message), { tx })
				: webhooks.enqueue({ topic: 'jobs', tenant: 'fan-out', payload: body }, { tx }),
		)
	const rate = ((transactions * FAN_OUT_TO) / (nanoseconds() - startedAt)) * 1e9
	await pool.query('truncate yaoki.outbox')
	return rate
}

/** Returns deliveries per second to the endpoints that respond. */
async function deliver(last: 'working' | 'hanging', count: number): Promise<number> {
	const perEndpoint = Math.ceil(count / ENDPOINTS)
	for (let n = 0; n < perEndpoint; n++)
		for (const tenant of ['all', last])
			await webhooks.enqueue({ topic: 'jobs', tenant, payload: body }, { withoutTransaction: true })
	await pool.query('vacuum analyze yaoki.outbox')
	const working = perEndpoint * (last === 'working' ? ENDPOINTS : ENDPOINTS - HANGING)
	const relay = new Relay(outbox, { destinations: { ...webhooks.destinations() } })
	let sent = 0
	const all = Promise.withResolvers<void>()
	relay.subscribe(({ type }) => {
		if (type === 'relay_sent' && ++sent === working) all.resolve()
	})
	const startedAt = nanoseconds()
	await relay.start()
	await all.promise
	const rate = (working / (nanoseconds() - startedAt)) * 1e9
	await relay.stop({ timeoutMs: 0 })
	await pool.query('truncate yaoki.outbox, yaoki.outbox_destinations')
	return rate
}

answering(async ({ count }) => {
	const turns: Turn[] = [
		...([PLAIN, FAN_OUT] as const).map((name): Turn => ({ name, run: () => write(name, count) })),
		{ name: ALL_WORK, run: () => deliver('working', count) },
		{ name: ONE_PERCENT_HANGS, run: () => deliver('hanging', count) },
	]
	await inTurns(turns, 1)
	return { nanoseconds: 0, taken: Object.fromEntries(await inTurns(turns, ROUNDS)) }
})
