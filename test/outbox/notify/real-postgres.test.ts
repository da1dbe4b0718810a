import { Client, Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { isSqlClient } from '../../../src/sql/clients.ts'
import { transactionState } from '../../../src/sql/transaction-state.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { fakeStore } from '../fake-store.ts'
import { trackConnections } from './track-connections.ts'

let postgres: PostgresDatabase
let pool: Pool
let allEnded: () => Promise<void>

beforeAll(async () => {
	postgres = await postgresDatabase()
	pool = new Pool(postgres.connection)
	allEnded = trackConnections(pool)
	await pool.query('CREATE TABLE written (id text)')
}, 120_000)

afterAll(async () => {
	await pool?.end()
	await allEnded?.()
	await postgres?.[Symbol.asyncDispose]()
}, 120_000)

/** An outbox that writes through the user's client, with a relay that counts its wake-ups. */
function setup() {
	const store = fakeStore()
	const warnings: string[] = []
	const { insert } = store
	store.insert = async (rows, tx) => {
		if (tx === undefined || !isSqlClient(tx)) throw new Error('tx is missing')
		await tx.query('INSERT INTO written SELECT unnest($1::text[])', [rows.map(({ id }) => id)])
		const inserted = await insert(rows, tx)
		const state = transactionState(tx)
		return { ...inserted, isInTransaction: state === 'unknown' ? undefined : state === 'open' }
	}
	const outbox = new Outbox({ store, onWarning: (text) => warnings.push(text) })
	let woken = 0
	let wake = () => {}
	outbox.attach({
		serves: () => true,
		stop: async () => {},
		wake: () => {
			woken++
			wake()
		},
	})
	return {
		outbox,
		warnings,
		woken: () => woken,
		/** Resolves after the first wake-up. */
		wakened: () =>
			new Promise<void>((resolve) => {
				wake = resolve
				if (woken > 0) resolve()
			}),
	}
}

const message = { topic: 'a', payload: 1 }

test('COMMIT of a pooled client wakes the relay once the message is visible to others, and not before', async () => {
	const { outbox, woken, wakened, warnings } = setup()
	const client = await pool.connect()
	try {
		await client.query('BEGIN')
		const { id } = await outbox.enqueue(message, { tx: client })
		await outbox.enqueue([message, message], { tx: client })
		await client.query('SELECT 1')
		expect(woken()).toBe(0)
		const seen = wakened().then(() => pool.query('SELECT 1 FROM written WHERE id = $1', [id]))
		await client.query('COMMIT')
		expect((await seen).rowCount).toBe(1)
		expect(woken()).toBe(1)
		expect(warnings).toEqual([])
	} finally {
		client.release()
	}
})

test('no listener stays on the connection after the transaction', async () => {
	const { outbox } = setup()
	const client = await pool.connect()
	const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
	const listeners = () => ['readyForQuery', 'end'].map((event) => connection.listenerCount(event))
	try {
		const before = listeners()
		for (const end of ['COMMIT', 'ROLLBACK']) {
			await client.query('BEGIN')
			for (let i = 0; i < 20; i++) await outbox.enqueue(message, { tx: client })
			expect(listeners()).toEqual(before.map((count) => count + 1))
			await client.query(end)
			expect(listeners()).toEqual(before)
		}
	} finally {
		client.release()
	}
})

test('savepoints and a failed statement do not end the watch; the rollback does', async () => {
	const { outbox, woken } = setup()
	const client = await pool.connect()
	try {
		await client.query('BEGIN')
		await client.query('SAVEPOINT one')
		await outbox.enqueue(message, { tx: client })
		await client.query('RELEASE one')
		await expect(client.query('SELECT nothing')).rejects.toThrow('nothing')
		expect(woken()).toBe(0)
		await client.query('ROLLBACK')
		expect(woken()).toBe(1)
	} finally {
		client.release()
	}
})

test('pipelined BEGIN, enqueue and COMMIT wake the relay without a warning', async () => {
	const { outbox, wakened, warnings } = setup()
	const client = new Client(postgres.connection)
	await client.connect()
	try {
		for (let i = 0; i < 20; i++) {
			const responses = [
				client.query('BEGIN'),
				outbox.enqueue(message, { tx: client }),
				client.query('COMMIT'),
			]
			await Promise.all<unknown>(responses)
		}
		await client.query('BEGIN')
		await Promise.all<unknown>([outbox.enqueue(message, { tx: client }), client.query('COMMIT')])
		await wakened()
		expect(warnings).toEqual([])
	} finally {
		await client.end()
	}
})

test('a client without BEGIN and a pool autocommit: the relay is woken immediately, with a warning', async () => {
	for (const which of ['client', 'pool'] as const) {
		const { outbox, woken, warnings } = setup()
		const client = await pool.connect()
		try {
			await outbox.enqueue(message, { tx: which === 'client' ? client : pool })
		} finally {
			client.release()
		}
		expect(woken()).toBe(1)
		expect(warnings).toHaveLength(1)
	}
})

test('a connection that ends during a transaction wakes the relay', async () => {
	const { outbox, woken, wakened } = setup()
	const client = new Client(postgres.connection)
	client.on('error', () => {})
	await client.connect()
	await client.query('BEGIN')
	await outbox.enqueue(message, { tx: client })
	expect(woken()).toBe(0)
	const { processID } = client as unknown as { processID: number }
	await pool.query('SELECT pg_terminate_backend($1)', [processID])
	await wakened()
	await client.end()
})
