/** Drains a queue to one receiver, by single messages and by batches in turn. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { batchDestination, httpDestination, Outbox, postgresOutboxStore, Relay } from 'yaoki/outbox'
import { guard } from '../../test/guard/guard.ts'
import { answering } from './answering.ts'
import { BATCHES, SINGLE } from './batches.ts'
import { bodies, committed, inBatches, nanoseconds } from './peer.ts'
import { message } from './peers/yaoki.ts'
import { inTurns, type Turn } from './rounds.ts'

const ROUNDS = 3

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })
const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
await outbox.migrate()

const receiver = guard(fork(fileURLToPath(new URL('./batches-receiver.ts', import.meta.url))))
process.on('disconnect', () => receiver.disconnect())
const [target]: unknown[] = await once(receiver, 'message')

const DESTINATIONS = {
	[SINGLE]: httpDestination({ url: String(target) }),
	[BATCHES]: batchDestination({
		maxMessages: 100,
		async deliver(messages, { signal }) {
			const body = JSON.stringify(messages.map(({ id, payload }) => ({ id, payload })))
			const response = await fetch(String(target), { method: 'POST', body, signal })
			await response.body?.cancel()
			if (!response.ok) throw new Error(`HTTP ${response.status}`)
		},
	}),
}

async function drain(name: keyof typeof DESTINATIONS, count: number): Promise<number> {
	await inBatches(count, (from, to) =>
		committed(pool, (tx) => outbox.enqueue(bodies(from, to).map(message), { tx })),
	)
	await pool.query('vacuum analyze yaoki.outbox')
	const relay = new Relay(outbox, { destinations: { jobs: DESTINATIONS[name] } })
	let sent = 0
	let finish = () => {}
	const all = new Promise<void>((resolve) => {
		finish = resolve
	})
	relay.subscribe(({ type }) => {
		if (type === 'relay_sent' && ++sent === count) finish()
	})
	const startedAt = nanoseconds()
	await relay.start()
	await all
	const rate = (count / (nanoseconds() - startedAt)) * 1e9
	await relay.stop()
	return rate
}

answering(async ({ count }) => {
	const turns = ([SINGLE, BATCHES] as const).map((name): Turn => ({ name, run: () => drain(name, count) }))
	await inTurns(turns, 1)
	return { nanoseconds: 0, taken: Object.fromEntries(await inTurns(turns, ROUNDS)) }
})
