/** What is wrong with an outbox, from the state of a real store. */
import { expect, test } from 'vitest'
import type { CircuitChange } from '../../../src/outbox/store/rows.ts'
import { openSqliteMemory } from '../../outbox/store/open-sqlite.ts'
import { RELAY, type TestQueue, testQueue } from './setup.ts'

async function withRelay(): Promise<TestQueue> {
	const t = await testQueue(await openSqliteMemory())
	await t.under.store.heartbeat({ ...RELAY, destinations: ['*'] }, 600_000)
	return t
}

const changeCircuit = (t: TestQueue, destination: string, change: Partial<CircuitChange>) =>
	t.under.store.changeCircuit({
		destination,
		state: 'open',
		pausedForMs: 30_000,
		reason: 'circuit-open',
		failedProbes: 0,
		delayMs: 30_000,
		version: 0,
		...change,
	})

test('nothing is wrong with an outbox whose messages are due at a running relay', async () => {
	await using t = await withRelay()
	await t.enqueue({})
	expect((await t.queue.overview()).problems).toEqual([])
})

test('names open circuits and Retry-After, with what is due and when they end', async () => {
	await using t = await withRelay()
	await t.enqueue({}, {}, { destination: 'mail' })
	await changeCircuit(t, 'billing', {})
	await t.under.store.pause('mail', 5_000, 'retry-after')
	const { problems, outboxes } = await t.queue.overview()
	expect(problems).toEqual([
		{
			severity: 'error',
			kind: 'destination-open',
			source: 'orders',
			sinceMs: null,
			destination: 'billing',
			due: { count: 2, isCapped: false },
			endsInMs: 30_000,
			by: null,
			reason: 'circuit-open',
		},
		expect.objectContaining({
			severity: 'warning',
			kind: 'destination-retry-after',
			destination: 'mail',
			endsInMs: 5_000,
		}),
	])
	expect(outboxes[0]?.destinations).toMatchObject([
		{ destination: 'billing', circuit: 'open', pause: 'circuit', pauseReason: 'circuit-open' },
		{ destination: 'mail', circuit: 'closed', pause: 'retry-after', pauseEndsInMs: 5_000 },
	])
})

test('a problem that begins while this process looks has a time', async () => {
	await using t = await withRelay()
	await t.enqueue({})
	await t.queue.overview()
	await changeCircuit(t, 'billing', {})
	const [first] = (await t.queue.overview()).problems
	expect(first?.sinceMs).toBe(0)
	const [again] = (await t.queue.overview()).problems
	expect(again?.sinceMs).toBeGreaterThanOrEqual(0)
})

test('late messages are named unless their destination is paused', async () => {
	await using t = await testQueue(await openSqliteMemory())
	await t.enqueue({}, { destination: 'mail' })
	await t.under.advance(360_000)
	await t.under.store.heartbeat({ ...RELAY, destinations: ['*'] }, 600_000)
	await t.outbox.pause('mail', { by: 'ada' })
	expect((await t.queue.overview()).problems).toMatchObject([
		{ kind: 'messages-late', destination: 'billing', lagMs: 360_000, sinceMs: 60_000 },
		{ kind: 'destination-paused', destination: 'mail', by: 'ada', endsInMs: null },
	])
})

test('late messages of endpoints are one problem, without the endpoints that fail', async () => {
	await using t = await testQueue(await openSqliteMemory())
	await t.enqueue({ destination: 'webhook:a' }, { destination: 'webhook:b' }, { destination: 'webhook:c' })
	await t.under.advance(360_000)
	await t.under.store.heartbeat({ ...RELAY, destinations: ['*'] }, 600_000)
	await changeCircuit(t, 'webhook:c', {})
	expect((await t.queue.overview()).problems).toMatchObject([
		{ kind: 'messages-late', destination: 'webhook:*', lagMs: 360_000, due: { count: 2 } },
	])
})

test('dead letters of endpoints are one problem, and their circuits none', async () => {
	await using t = await withRelay()
	await t.die(1, { destination: 'webhook:a' })
	await t.die(2, { destination: 'webhook:b' })
	await changeCircuit(t, 'webhook:a', {})
	expect((await t.queue.overview()).problems).toMatchObject([
		{ kind: 'dead-letters', destination: 'webhook:*', dead: { count: 3 } },
	])
})

test('a clock that was set back is an error', async () => {
	await using t = await withRelay()
	await t.under.advance(600_000)
	await t.under.store.heartbeat({ ...RELAY, destinations: ['*'] }, 6_000_000)
	const stats = await t.outbox.stats()
	t.outbox.stats = async () => ({ ...stats, clockBehindMs: 60_000 })
	expect((await t.queue.overview()).problems).toMatchObject([
		{ kind: 'clock-behind', severity: 'error', behindMs: 60_000 },
	])
})

test('a destination without messages is shown if a relay serves it by its name', async () => {
	await using t = await testQueue(await openSqliteMemory())
	await t.under.store.heartbeat({ ...RELAY, destinations: ['mail', 'webhook:*', 'billing'] }, 600_000)
	await t.enqueue({}, { destination: 'billing' })
	const { outboxes } = await t.queue.overview()
	expect(outboxes[0]?.destinations).toMatchObject([
		{ destination: 'billing' },
		{ destination: 'mail', due: { count: 0 }, circuit: 'closed', pause: null },
	])
})
