import { EventEmitter } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { CommitWatch } from '../../../src/outbox/notify/commit-watch.ts'
import type { Queryable } from '../../../src/outbox/store/queryable.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

const A: ReadonlySet<string> = new Set(['a'])
const B: ReadonlySet<string> = new Set(['b'])
const query = () => Promise.resolve({ rows: [] })

function open() {
	const clock = virtualRuntime()
	const told: { readonly at: number; readonly destinations: readonly string[] }[] = []
	const watch = new CommitWatch(clock, (destinations) => {
		told.push({ at: clock.now(), destinations: [...destinations] })
	})
	return { clock, told, watch }
}

/** A `pg` client whose server says what a test wants it to. */
function pgClient() {
	const connection = new EventEmitter()
	let status = 'T'
	return {
		query,
		connection,
		getTransactionStatus: () => status,
		says(next: string) {
			status = next
			connection.emit('readyForQuery', { status: next })
		},
	}
}

test('without a tx, it is told at once', () => {
	const { watch, told, clock } = open()
	watch.follow(undefined, A, undefined)
	expect(told).toEqual([{ at: 0, destinations: ['a'] }])
	expect(clock.pendingTimers).toBe(0)
})

test('a write that committed itself is told at once', () => {
	const { watch, told, clock } = open()
	const pool = { query, connect: query, totalCount: 2 }
	watch.follow(pool, A, undefined)
	watch.follow({ query }, A, false)
	const client = pgClient()
	client.says('I')
	watch.follow(client, A, false)
	expect(told).toHaveLength(3)
	expect(clock.pendingTimers).toBe(0)
	expect(client.connection.listenerCount('readyForQuery')).toBe(0)
})

describe('of a pg client', () => {
	test('the commit is heard in the moment of its answer, and not before', () => {
		const { watch, told } = open()
		const client = pgClient()
		watch.follow(client, A, true)
		client.says('T')
		expect(told).toEqual([])
		client.says('I')
		expect(told).toEqual([{ at: 0, destinations: ['a'] }])
	})

	test('there is one listener, however many messages, and none after the commit', () => {
		const { watch, told } = open()
		const client = pgClient()
		for (let i = 0; i < 100; i++) watch.follow(client, i % 2 === 0 ? A : B, true)
		expect(client.connection.listenerCount('readyForQuery')).toBe(1)
		client.says('I')
		client.says('I')
		expect(told.map(({ destinations }) => destinations)).toEqual([['a', 'b']])
		expect(client.connection.eventNames()).toEqual([])
	})

	test('every transaction is heard anew', () => {
		const { watch, told } = open()
		const client = pgClient()
		for (const destinations of [A, B]) {
			client.says('T')
			watch.follow(client, destinations, true)
			client.says('I')
		}
		expect(told.map(({ destinations }) => destinations)).toEqual([['a'], ['b']])
	})

	test('a failed transaction is over when it is rolled back', () => {
		const { watch, told } = open()
		const client = pgClient()
		watch.follow(client, A, true)
		client.says('E')
		expect(told).toEqual([])
		client.says('I')
		expect(told).toHaveLength(1)
	})

	test('a commit that was answered together with the write is not waited for', () => {
		const { watch, told } = open()
		const client = { ...pgClient(), getTransactionStatus: () => 'I', readyForQuery: false }
		watch.follow(client, A, true)
		expect(told).toHaveLength(1)
	})

	test('a connection that is gone is let go', () => {
		const { watch, told } = open()
		const client = pgClient()
		watch.follow(client, A, true)
		client.connection.emit('end')
		expect(client.connection.eventNames()).toEqual([])
		expect(told).toHaveLength(1)
	})

	test('without a connection to listen to, its state is looked at', async () => {
		const { watch, told, clock } = open()
		let status = 'T'
		watch.follow({ query, getTransactionStatus: () => status } as Queryable, A, true)
		await clock.advance(10)
		status = 'I'
		await clock.runUntilIdle()
		expect(told).toHaveLength(1)
	})
})

describe('of node:sqlite', () => {
	test('a commit in the same tick is noticed in the next', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, told, clock } = open()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		db.exec('COMMIT')
		expect(told).toEqual([])
		await clock.advance(0)
		expect(told).toEqual([{ at: 0, destinations: ['a'] }])
		expect(clock.pendingTimers).toBe(0)
	})

	test('one that takes longer is looked for ever more seldom, and noticed within its own length or 100 ms', async () => {
		for (const length of [1, 3, 10, 60, 250, 2_000]) {
			using db = new DatabaseSync(':memory:')
			const { watch, told, clock } = open()
			db.exec('BEGIN')
			watch.follow(db, A, true)
			await clock.advance(length - 0.5)
			db.exec('COMMIT')
			await clock.runUntilIdle()
			expect(told).toHaveLength(1)
			expect((told[0]?.at ?? 0) - length).toBeLessThanOrEqual(Math.min(length + 1, 100))
		}
	})

	test('a thousand messages in one transaction are one watch', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, told, clock } = open()
		db.exec('BEGIN')
		for (let i = 0; i < 1_000; i++) watch.follow(db, i % 2 === 0 ? A : B, true)
		expect(clock.pendingTimers).toBe(1)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(told).toEqual([{ at: 0, destinations: ['a', 'b'] }])
	})

	test('a message late in a long transaction is looked for soon again', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, told, clock } = open()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		await clock.advance(1_000)
		watch.follow(db, B, true)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(told).toEqual([{ at: 1_000, destinations: ['a', 'b'] }])
	})

	test('a transaction that stays open for very long is given up', async () => {
		using db = new DatabaseSync(':memory:')
		const { watch, told, clock } = open()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		expect(await clock.runUntilIdle()).toBeGreaterThan(9_000)
		expect(told).toEqual([])
		watch.follow(db, B, true)
		db.exec('COMMIT')
		await clock.runUntilIdle()
		expect(told.map(({ destinations }) => destinations)).toEqual([['b']])
	})

	test('a database that was closed is no reason to throw', async () => {
		const db = new DatabaseSync(':memory:')
		const { watch, told, clock } = open()
		db.exec('BEGIN')
		watch.follow(db, A, true)
		db.close()
		await clock.runUntilIdle()
		expect(told).toHaveLength(1)
	})
})

describe('of what can not tell', () => {
	test('it is told at once, and some more times within a second', async () => {
		const { watch, told, clock } = open()
		watch.follow({ query }, A, true)
		expect(await clock.runUntilIdle()).toBe(1_000)
		expect(told.map(({ at }) => at)).toEqual([0, 5, 20, 50, 100, 250, 500, 1_000])
		expect(told.every(({ destinations }) => destinations.join() === 'a')).toBe(true)
	})

	test('many transactions share one row of timers, and the last has its whole second', async () => {
		const { watch, told, clock } = open()
		for (let i = 0; i < 100; i++) {
			watch.follow({ query }, i % 2 === 0 ? A : B, undefined)
			expect(clock.pendingTimers).toBe(1)
			await clock.advance(i < 90 ? 1 : 30)
		}
		const from = clock.now() - 30
		await clock.runUntilIdle()
		expect(told.at(-1)).toMatchObject({ at: from + 1_000, destinations: ['a', 'b'] })
		expect(clock.pendingTimers).toBe(0)
	})
})

test('closing leaves no listener and no timer behind, and tells nothing more', async () => {
	using db = new DatabaseSync(':memory:')
	const { watch, told, clock } = open()
	const client = pgClient()
	db.exec('BEGIN')
	watch.follow(client, A, true)
	watch.follow(db, A, true)
	watch.follow({ query }, B, true)
	told.length = 0
	watch.close()
	client.says('I')
	await clock.runUntilIdle()
	expect(told).toEqual([])
	expect(client.connection.eventNames()).toEqual([])
	expect(clock.now()).toBe(0)
})
