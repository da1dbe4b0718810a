/** The wall clock is set while messages are in flight or scheduled. */
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { ClaimedRow } from '../../../../src/outbox/store/rows.ts'
import {
	type SqliteOutboxStore,
	sqliteOutboxStore,
} from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { required } from '../../../../src/outbox/testing/harness/assertions.ts'
import { retry } from '../../../../src/outbox/testing/harness/settlements.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { newRow } from '../rows.ts'
import { claimRows, sent } from './rows.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const LEASE_MS = MINUTE

const open = (file: string, runtime: VirtualRuntime): SqliteOutboxStore => {
	const store = sqliteOutboxStore({ file, runtime })
	onTestFinished(() => store.close())
	return store
}

async function setup(
	file = temporaryFile(),
): Promise<{ clock: VirtualRuntime; file: string; store: SqliteOutboxStore }> {
	const clock = virtualRuntime()
	const store = open(file, clock)
	await store.migrate()
	return { clock, file, store }
}

const claim = (store: SqliteOutboxStore, owner: string): Promise<readonly ClaimedRow[]> =>
	claimRows(store, {}, owner, LEASE_MS)

/** Which store claims after the change: the one that claimed before it, one that was open, or one that is opened afterwards. */
const OBSERVERS = ['the same process', 'another process', 'a process that starts afterwards'] as const

async function observer(
	which: (typeof OBSERVERS)[number],
	{ clock, file, store }: Awaited<ReturnType<typeof setup>>,
): Promise<() => SqliteOutboxStore> {
	if (which === 'the same process') return () => store
	if (which === 'a process that starts afterwards') return () => open(file, clock)
	const other = open(file, clock)
	await other.now()
	return () => other
}

describe.each(OBSERVERS)('two hours forward, observed by %s', (which) => {
	test('a message in flight is not claimed again until its lease has ended', async () => {
		const here = await setup()
		const later = await observer(which, here)
		await here.store.insert([newRow()])
		expect(await claim(here.store, 'r1')).toHaveLength(1)
		await here.clock.advance(LEASE_MS / 2)
		here.clock.jumpWallClock(2 * HOUR)
		const store = later()
		expect(await claim(store, 'r2')).toEqual([])
		await here.clock.advance(LEASE_MS / 2 - SECOND)
		expect(await claim(store, 'r2')).toEqual([])
		await here.clock.advance(2 * SECOND)
		expect(await claim(store, 'r2')).toHaveLength(1)
	})

	test('the time follows the wall clock', async () => {
		const here = await setup()
		const later = await observer(which, here)
		await here.store.insert([newRow({ notBefore: here.clock.wallNow() + HOUR })])
		here.clock.jumpWallClock(2 * HOUR)
		const store = later()
		expect(await store.now()).toBe(here.clock.wallNow())
		expect(await claim(store, 'r1')).toHaveLength(1)
	})
})

describe.each(OBSERVERS)('two hours back, observed by %s', (which) => {
	test('messages that are due are claimed', async () => {
		const here = await setup()
		const later = await observer(which, here)
		await here.store.insert([newRow()])
		here.clock.jumpWallClock(-2 * HOUR)
		expect(await claim(later(), 'r1')).toHaveLength(1)
	})

	test('leases, retries and new messages take hardly longer', async () => {
		const here = await setup()
		const later = await observer(which, here)
		await here.store.insert([newRow()])
		here.clock.jumpWallClock(-2 * HOUR)
		const store = later()
		const [first] = await claim(store, 'r1')
		await store.insert([newRow()])
		const [second, ...others] = await claim(store, 'r1')
		expect(others).toEqual([])
		if (!first || !second) throw new Error('expected two messages')
		await store.settle('r1', [retry(second, 10 * SECOND)], false)
		await here.clock.advance(12 * SECOND)
		expect((await claim(store, 'r1')).map(({ id }) => id)).toEqual([second.id])
		await here.clock.advance(LEASE_MS)
		expect((await claim(store, 'r2')).map(({ id }) => id)).toEqual([first.id])
	})
})

test('after a clock that was set back, time runs slower until the wall clock has caught up', async () => {
	const { clock, store } = await setup()
	const before = await store.now()
	clock.jumpWallClock(-2 * HOUR)
	await store.insert([newRow()])
	expect(await store.now()).toBe(before)
	await clock.advance(10 * HOUR)
	await store.insert([newRow()])
	expect(await store.now()).toBe(before + 9 * HOUR)
	await clock.advance(11 * HOUR)
	await store.insert([newRow()])
	expect(await store.now()).toBe(clock.wallNow())
})

test('two processes that notice the same jump extend a lease once', async () => {
	const { clock, file, store } = await setup()
	const other = open(file, clock)
	await other.now()
	await store.insert([newRow()])
	const [row] = await claim(store, 'r1')
	clock.jumpWallClock(2 * HOUR)
	for (const each of [store, other, open(file, clock), store]) await claim(each, 'r2')
	expect((await store.find(row?.id ?? ''))?.leaseUntil).toBe(clock.wallNow() + LEASE_MS)
})

describe('written in a transaction of the user, while another process has used a time an hour ahead', () => {
	async function behind() {
		const { clock, file, store } = await setup()
		await store.now()
		const ahead = virtualRuntime()
		ahead.jumpWallClock(HOUR)
		const other = open(file, ahead)
		const first = newRow()
		await other.insert([first])
		const [row] = await claim(other, 'r1')
		await other.settle('r1', [sent(required(row, 'the message'))], false)
		const tx = new DatabaseSync(file)
		onTestFinished(() => tx.close())
		return { clock, store, other, tx }
	}

	test('a dedupe key holds for its whole time (regression: it expired early, and a second message was written)', async () => {
		const { store, other, tx } = await behind()
		const options = { dedupeForMs: 30 * MINUTE }
		store.insertSync([newRow({ dedupeKey: 'k' })], tx, options)
		const [row] = await claim(other, 'r1')
		await other.settle('r1', [sent(required(row, 'the message'))], false)
		const again = newRow({ dedupeKey: 'k' })
		expect((await other.insert([again], undefined, options)).duplicates.has(again.id)).toBe(true)
	})

	test('an event of webhooks is kept for its whole time (regression: it was deleted early)', async () => {
		const { store, other, tx } = await behind()
		const event = { tenant: '', topic: 'a', key: null, payload: '{}', headers: null }
		const { id } = newRow()
		await store.endpoints?.insertEvent({ ...event, id, keepForMs: 30 * MINUTE }, tx)
		expect(await other.endpoints?.dropEvents(10)).toBe(0)
	})
})

test('after hours without a running process, leases have ended', async () => {
	const { clock, file, store } = await setup()
	await store.insert([newRow()])
	await claim(store, 'r1')
	await clock.advance(2 * HOUR)
	expect(await claim(open(file, clock), 'r2')).toHaveLength(1)
})

test('a jump whose transaction is rolled back is recorded by the next one', async () => {
	const { clock, store } = await setup()
	await store.insert([newRow()])
	await claim(store, 'r1')
	clock.jumpWallClock(2 * HOUR)
	const row = newRow()
	await expect(store.insert([row, row])).rejects.toThrow()
	expect(await claim(store, 'r2')).toEqual([])
})

test('a permit and a pause last as long as before a jump', async () => {
	const { clock, store } = await setup()
	const request = { destination: 'a', wanted: 1, inUse: 0, total: 1, leaseMs: LEASE_MS }
	expect(await store.acquirePermits({ ...request, owner: 'r1' })).toBe(1)
	await store.pause('a', LEASE_MS, 'retry-after')
	clock.jumpWallClock(2 * HOUR)
	expect(await store.acquirePermits({ ...request, owner: 'r2' })).toBe(0)
	expect((await store.circuits(['a']))[0]?.pausedForMs).toBe(LEASE_MS)
})

test.each([2 * HOUR, -2 * HOUR])(
	'a relay sends each message once although the clock jumps by %i ms',
	async (ms) => {
		const { clock, store } = await setup(':memory:')
		const outbox = new Outbox({ store, outsideTransaction: 'allow', runtime: clock })
		const sent: unknown[] = []
		const deliver = async ({ payload }: { readonly payload: unknown }): Promise<void> => {
			sent.push(payload)
			await new Promise<void>((resolve) => void clock.setTimer(20 * SECOND, resolve))
		}
		const relays = [1, 2].map(
			(n) =>
				new Relay(outbox, {
					name: `r${n}`,
					destinations: { jobs: deliver },
					leaseMs: 5 * SECOND,
					runtime: clock,
				}),
		)
		for (const relay of relays) await relay.start()
		await outbox.enqueue({ topic: 'jobs', payload: 'before' })
		await clock.advance(2 * SECOND)
		clock.jumpWallClock(ms)
		await outbox.enqueue({ topic: 'jobs', payload: 'after' })
		await clock.advance(30 * SECOND)
		expect(sent).toEqual(['before', 'after'])
		expect(await outbox.list()).toEqual([])
		const stopped = Promise.all(relays.map((relay) => relay.stop()))
		await clock.advance(SECOND)
		await stopped
	},
)
