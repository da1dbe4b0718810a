/** The outbox on PostgreSQL, and on SQLite. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { Outbox, postgresOutboxStore, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import {
	type Body,
	bodies,
	committed,
	exists,
	type Handle,
	inBatches,
	nanoseconds,
	ORDER,
	type Peer,
	vacuum,
} from '../peer.ts'

/** The topic and destination of all messages. */
const TOPIC = 'jobs'

export const message = (payload: Body): { topic: string; payload: Body } => ({ topic: TOPIC, payload })

function worker(outbox: Outbox, order = false): Peer['work'] {
	// Default options.
	return async (handle: Handle) => {
		const deliver = async ({ payload }: { readonly payload: unknown }) => handle((payload as Body).seq)
		const relay = new Relay(outbox, { destinations: { [TOPIC]: order ? { deliver, order } : deliver } })
		await relay.start()
		return () => relay.stop()
	}
}

/** With a key, all messages have it and are sent in order. */
export async function yaoki(url: string, key?: string): Promise<Peer> {
	const pool = new pg.Pool({ connectionString: url })
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
	await outbox.migrate()
	const keyed = (payload: Body) => (key === undefined ? message(payload) : { ...message(payload), key })
	const send = (seq: number) => committed(pool, (tx) => outbox.enqueue(keyed({ ...ORDER, seq }), { tx }))
	return {
		fill: (count) =>
			inBatches(count, (from, to) =>
				committed(pool, (tx) => outbox.enqueue(bodies(from, to).map(keyed), { tx })),
			),
		async enqueueEach(count) {
			await committed(pool, async (tx) => {
				for (let seq = 0; seq < count; seq++) await outbox.enqueue(keyed({ ...ORDER, seq }), { tx })
			})
		},
		send,
		work: worker(outbox, key !== undefined),
		isEmpty: async () => !(await exists(pool, 'yaoki.outbox')),
		async tidy() {
			await pool.query('truncate yaoki.outbox')
		},
		vacuum: () => vacuum(pool),
		async close() {
			await outbox.close()
			await pool.end()
		},
	}
}

export async function yaokiOnSqlite(file: string): Promise<Peer> {
	const outbox = new Outbox({ store: sqliteOutboxStore({ file }) })
	await outbox.migrate()
	const user = new DatabaseSync(file)
	user.exec('pragma synchronous = full')
	const left = user.prepare('select exists (select 1 from yaoki_outbox) as "is"')
	async function inTransaction(work: () => Promise<unknown>): Promise<number> {
		user.exec('begin immediate')
		await work()
		user.exec('commit')
		return nanoseconds()
	}
	const enqueue = (seq: number) => outbox.enqueue(message({ ...ORDER, seq }), { tx: user })
	return {
		fill: (count) =>
			inBatches(count, (from, to) =>
				inTransaction(() => outbox.enqueue(bodies(from, to).map(message), { tx: user })),
			),
		async enqueueEach(count) {
			await inTransaction(async () => {
				for (let seq = 0; seq < count; seq++) await enqueue(seq)
			})
		},
		send: (seq) => inTransaction(() => enqueue(seq)),
		work: worker(outbox),
		isEmpty: async () => left.get()?.['is'] === 0,
		async tidy() {
			user.exec('delete from yaoki_outbox')
		},
		async vacuum() {
			user.exec('analyze')
		},
		async close() {
			await outbox.close()
			user.close()
		},
	}
}
