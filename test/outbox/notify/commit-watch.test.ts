import { EventEmitter } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { CommitWatch } from '../../../src/outbox/notify/commit-watch.ts'
import type { Queryable } from '../../../src/sql/clients.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

const A: ReadonlySet<string> = new Set(['a'])
const B: ReadonlySet<string> = new Set(['b'])
const query = () => Promise.resolve({ rows: [] })

function setup() {
	const clock = virtualRuntime()
	const commits: { readonly at: number; readonly destinations: readonly string[] }[] = []
	const watch = new CommitWatch(clock, (destinations) => {
		commits.push({ at: clock.now(), destinations: [...destinations] })
	})
	return { clock, commits, watch }
}

/** A `pg` client whose transaction status is set by the test. */
function pgClient() {
	const connection = new EventEmitter()
	let status = 'T'
	return {
		query,
		connection,
		getTransactionStatus: () => status,
		setStatus(next: string) {
			status = next
			connection.emit('readyForQuery', { status: next })
		},
	}
}

test('reports immediately without a tx', () => {
	const { watch, commits, clock } = setup()
	watch.follow(undefined, A, undefined)
	expect(commits).toEqual([{ at: 0, destinations: ['a'] }])
	expect(clock.pendingTimers).toBe(0)
})

test('reports an autocommitted write immediately', () => {
	const { watch, commits, clock } = setup()
	const pool = { query, connect: query, totalCount: 2 }
	watch.follow(pool, A, undefined)
	watch.follow({ query }, A, false)
	const client = pgClient()
	client.setStatus('I')
	watch.follow(client, A, false)
	expect(commits).toHaveLength(3)
	expect(clock.pendingTimers).toBe(0)
	expect(client.connection.listenerCount('readyForQuery')).toBe(0)
})

describe('pg client', () => {
	test('reports the commit when its response arrives, and not before', () => {
		const { watch, commits } = setup()
		const client = pgClient()
		watch.follow(client, A, true)
		client.setStatus('T')
		expect(commits).toEqual([])
		client.setStatus('I')
		expect(commits).toEqual([{ at: 0, destinations: ['a'] }])
	})

	test('adds one listener for any number of messages and removes it after the commit', () => {
		const { watch, commits } = setup()
		const client = pgClient()
		for (let i = 0; i < 100; i++) watch.follow(client, i % 2 === 0 ? A : B, true)
		expect(client.connection.listenerCount('readyForQuery')).toBe(1)
		client.setStatus('I')
		client.setStatus('I')
		expect(commits.map(({ destinations }) => destinations)).toEqual([['a', 'b']])
		expect(client.connection.eventNames()).toEqual([])
	})

	test('watches each transaction of a client anew', () => {
		const { watch, commits } = setup()
		const client = pgClient()
		for (const destinations of [A, B]) {
			client.setStatus('T')
			watch.follow(client, destinations, true)
			client.setStatus('I')
		}
		expect(commits.map(({ destinations }) => destinations)).toEqual([['a'], ['b']])
	})

	test('a failed transaction ends with its rollback', () => {
		const { watch, commits } = setup()
		const client = pgClient()
		watch.follow(client, A, true)
		client.setStatus('E')
		expect(commits).toEqual([])
		client.setStatus('I')
		expect(commits).toHaveLength(1)
	})

	test('does not wait when the commit was confirmed together with the write', () => {
		const { watch, commits } = setup()
		const client = { ...pgClient(), getTransactionStatus: () => 'I', readyForQuery: false }
		watch.follow(client, A, true)
		expect(commits).toHaveLength(1)
	})

	test('removes its listeners when the connection ends', () => {
		const { watch, commits } = setup()
		const client = pgClient()
		watch.follow(client, A, true)
		client.connection.emit('end')
		expect(client.connection.eventNames()).toEqual([])
		expect(commits).toHaveLength(1)
	})

	test('polls the transaction status of a client without a connection object', async () => {
		const { watch, commits, clock } = setup()
		let status = 'T'
		watch.follow({ query, getTransactionStatus: () => status } as Queryable, A, true)
		await clock.advance(10)
		status = 'I'
		await clock.runUntilIdle()
		expect(commits).toHaveLength(1)
	})
})

describe('node:sqlite', () => {
	test('notices a commit of the same tick in the next tick', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, commits, clock } = setup()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		db.exec('COMMIT')
		expect(commits).toEqual([])
		await clock.advance(0)
		expect(commits).toEqual([{ at: 0, destinations: ['a'] }])
		expect(clock.pendingTimers).toBe(0)
	})

	test('polls a longer transaction with growing intervals and notices its end within its own duration or 100 ms', async () => {
		for (const length of [1, 3, 10, 60, 250, 2_000]) {
			using db = new DatabaseSync(':memory:')
			const { watch, commits, clock } = setup()
			db.exec('BEGIN')
			watch.follow(db, A, true)
			await clock.advance(length - 0.5)
			db.exec('COMMIT')
			await clock.runUntilIdle()
			expect(commits).toHaveLength(1)
			expect((commits[0]?.at ?? 0) - length).toBeLessThanOrEqual(Math.min(length + 1, 100))
		}
	})

	test('uses one watch for a thousand messages of a transaction', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, commits, clock } = setup()
		db.exec('BEGIN')
		for (let i = 0; i < 1_000; i++) watch.follow(db, i % 2 === 0 ? A : B, true)
		expect(clock.pendingTimers).toBe(1)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(commits).toEqual([{ at: 0, destinations: ['a', 'b'] }])
	})

	test('restarts with short intervals after a late message of a long transaction', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, commits, clock } = setup()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		await clock.advance(1_000)
		watch.follow(db, B, true)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(commits).toEqual([{ at: 1_000, destinations: ['a', 'b'] }])
	})

	test('stops polling a transaction that stays open for 10 s', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, commits, clock } = setup()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		expect(await clock.runUntilIdle()).toBeGreaterThan(9_000)
		expect(commits).toEqual([])
		watch.follow(db, B, true)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(commits.map(({ destinations }) => destinations)).toEqual([['b']])
	})

	test('does not throw when the database was closed', async () => {
		const db = new DatabaseSync(':memory:')
		const { watch, commits, clock } = setup()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		db.close()
		await clock.runUntilIdle()
		expect(commits).toHaveLength(1)
	})
})

describe('client without transaction state', () => {
	test('notifies immediately and several times within a second', async () => {
		const { watch, commits, clock } = setup()
		watch.follow({ query }, A, true)
		expect(await clock.runUntilIdle()).toBe(1_000)
		expect(commits.map(({ at }) => at)).toEqual([0, 5, 20, 50, 100, 250, 500, 1_000])
		expect(commits.map(({ destinations }) => destinations.join())).toEqual(commits.map(() => 'a'))
	})

	test('many transactions share one timer, and the last one gets its full second', async () => {
		const { watch, commits, clock } = setup()
		for (let i = 0; i < 100; i++) {
			watch.follow({ query }, i % 2 === 0 ? A : B, undefined)
			expect(clock.pendingTimers).toBe(1)
			await clock.advance(i < 90 ? 1 : 30)
		}
		const from = clock.now() - 30
		await clock.runUntilIdle()
		expect(commits.at(-1)).toMatchObject({ at: from + 1_000, destinations: ['a', 'b'] })
		expect(clock.pendingTimers).toBe(0)
	})
})

test('close removes listeners and timers and reports nothing more', async () => {
	using db = new DatabaseSync(':memory:')
	const { watch, commits, clock } = setup()
	const client = pgClient()
	db.exec('BEGIN')
	watch.follow(client, A, true)
	watch.follow(db, A, true)
	watch.follow({ query }, B, true)
	commits.length = 0
	watch.close()
	client.setStatus('I')
	await clock.runUntilIdle()
	expect(commits).toEqual([])
	expect(client.connection.eventNames()).toEqual([])
	expect(clock.now()).toBe(0)
})
