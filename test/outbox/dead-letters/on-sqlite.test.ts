/** Dead letters on a real store, with the test as the relay: verifies what the fake store assumes. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import { readStats } from '../../../src/outbox/diagnostics/stats.ts'
import { explainMessage } from '../../../src/outbox/diagnostics/why.ts'
import { toStoredError } from '../../../src/outbox/message/stored-error.ts'
import type { NewRow, Settlement } from '../../../src/outbox/store/rows.ts'
import { type SqliteOutboxStore, sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { idOf, NOW } from '../diagnostics/fake-store.ts'

const DOWN = toStoredError(new Error('connect ECONNREFUSED 10.0.0.1:5432'))

let store: SqliteOutboxStore
let clock: ReturnType<typeof virtualRuntime>
let dead: DeadLetters
let afterReplay: () => void
let relayed: Promise<void>[]

beforeEach(async () => {
	clock = virtualRuntime({ startAt: NOW })
	store = sqliteOutboxStore({ file: ':memory:', clock: () => clock.wallNow() })
	await store.migrate()
	afterReplay = () => {}
	relayed = []
	const onChanged = vi.fn(() => afterReplay())
	dead = new DeadLetters({ store, runtime: clock, keepsHistory: true, maxPayloadBytes: 1_000, onChanged })
})

afterEach(async () => {
	await Promise.all(relayed)
	await store.close()
})

const row = (n: number, given: Partial<NewRow> = {}): NewRow => ({
	id: idOf(n),
	topic: 'order.created',
	destination: 'billing',
	key: null,
	payload: '{"total":1}',
	headers: null,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
	...given,
})

/** Claims and settles all due messages. */
async function relay(settle: (id: string, attempt: number) => Settlement): Promise<void> {
	const targets = [{ destination: 'billing', limit: 10_000, since: 0, isOrdered: false, isProbe: false }]
	const request = { owner: 'relay-1', leaseMs: 60_000, targets, poisonCandidates: false, poisonAfter: 2 }
	const { rows } = await store.claim(request)
	const outcomes = rows.map(({ id, attempt }) => settle(id, attempt))
	await store.settle('relay-1', outcomes, true)
}

const die = (id: string, attempt: number): Settlement => ({
	type: 'dead',
	id,
	attempt,
	cause: 'retries-exhausted',
	afterDeadLetter: 'skip',
	error: toStoredError(
		new Error(`connect ECONNREFUSED 10.0.0.1:${attempt + Number.parseInt(id.slice(-4), 16)}`),
	),
})
const send = (id: string, attempt: number): Settlement => ({ type: 'sent', id, attempt })
const retry = (id: string, attempt: number): Settlement => ({
	type: 'retry',
	id,
	attempt,
	inMs: 60_000,
	delayMs: null,
	error: DOWN,
})

/** Does the same after each replay. */
function relayLater(settle: (id: string, attempt: number) => Settlement): void {
	afterReplay = () => {
		clock.setTimer(50, () => {
			relayed.push(relay(settle))
		})
	}
}

async function moveToDead(count: number): Promise<void> {
	await store.insert(Array.from({ length: count }, (_, index) => row(index + 1)))
	await relay(die)
	await clock.advance(1_000)
}

it('groups the same failure of many messages and replays them by fingerprint', async () => {
	await moveToDead(2_500)
	const groups = await dead.groups()
	expect(groups).toMatchObject([{ count: 2_500, exampleId: idOf(1), fingerprint: DOWN.fingerprint }])
	const report = dead.replay({ fingerprint: groups[0]?.fingerprint })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 2_500, stopped: false })
	expect((await readStats(store)).totals).toMatchObject({ due: { count: 2_500 }, dead: { count: 0 } })
})

it('a canary continues with the rest when its messages are sent', async () => {
	await moveToDead(30)
	relayLater(send)
	const report = dead.replay({}, { all: true, canary: true })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 30, stopped: false })
})

it('a canary stops at the first attempt with the same error', async () => {
	await moveToDead(30)
	relayLater(retry)
	const report = dead.replay({}, { all: true, canary: true })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 1, stoppedBy: 'same-failure', sameFailure: [idOf(1)] })
	expect(await dead.count()).toEqual({ count: 29, isCapped: false })
})

it('a replay does not repeat messages that die again while it runs', async () => {
	await moveToDead(1_500)
	const replay = store.replay.bind(store)
	vi.spyOn(store, 'replay').mockImplementation(async (...args) => {
		const ids = await replay(...args)
		clock.jumpWallClock(5)
		await relay(die)
		return ids
	})
	const report = dead.replay({}, { all: true })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 1_500, stopped: false })
	expect(await dead.count()).toEqual({ count: 1_500, isCapped: false })
})

it('an edited message is sent with its changes', async () => {
	await moveToDead(1)
	await dead.edit(idOf(1), { payload: { total: 2 }, headers: { a: 'b' } })
	expect(await store.find(idOf(1))).toMatchObject({
		payload: '{"total":2}',
		headers: '{"a":"b"}',
		attempts: 0,
	})
})

it('messages can be discarded while iterating over them', async () => {
	await moveToDead(250)
	for await (const { id } of dead.each()) await dead.discard({ ids: [id] })
	expect(await dead.count()).toEqual({ count: 0, isCapped: false })
	expect(await explainMessage(store, store, idOf(7))).toContain('as a dead letter; it will not be sent')
})

it('explains each stage of a message', async () => {
	const why = () => explainMessage(store, store, idOf(1))
	await store.insert([row(1, { notBefore: NOW + 5_000 })])
	expect(await why()).toContain('(in 5 s)')
	expect(await why()).toContain('Also, no relay is running.')
	const names = { destinations: ['billing'], orderedDestinations: [] }
	const report = { id: 'relay-1', host: 'h', pid: 1, ...names, heartbeatMs: 5_000, throughput: 1 }
	await clock.advance(6_000)
	await store.heartbeat({ ...report, inFlight: 0, sent: 0, failed: 0, dead: 0 }, 60_000)
	expect(await why()).toBe('Due for 1 s and next: a relay claims it within a moment.')
	await relay(retry)
	expect(await why()).toBe(
		'Next attempt in 60 s, after 1 failed attempt (Error: connect ECONNREFUSED 10.0.0.1:5432).',
	)
	await store.retryNow({}, 1)
	await store.pause('billing', 12_000, 'retry-after')
	expect(await why()).toContain('it returned Retry-After; sending resumes in 12 s')
	await clock.advance(12_001)
	await relay(die)
	await clock.advance(3_000)
	expect(await why()).toContain('Dead for 3 s: retries exhausted after 2 attempts')
	await dead.replay({ ids: [idOf(1)] })
	await relay(send)
	expect(await why()).toBe('Sent 0 ms ago on attempt 1.')
})
