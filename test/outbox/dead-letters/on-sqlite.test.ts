/** The same promises on a real store, with the test as the relay: what a fake believes of stores is what they do. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import { readStats } from '../../../src/outbox/diagnostics/stats.ts'
import { whyNotSent } from '../../../src/outbox/diagnostics/why.ts'
import { toStoredError } from '../../../src/outbox/message/stored-error.ts'
import type { NewRow, Settlement } from '../../../src/outbox/store/rows.ts'
import { type SqliteStore, sqliteStore } from '../../../src/outbox/store/sqlite/index.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { idOf, NOW } from '../diagnostics/fake-store.ts'

const DOWN = toStoredError(new Error('connect ECONNREFUSED 10.0.0.1:5432'))

let store: SqliteStore
let clock: ReturnType<typeof virtualRuntime>
let dead: DeadLetters
let afterReplay: () => void
let relayed: Promise<void>[]

beforeEach(async () => {
	clock = virtualRuntime({ startAt: NOW })
	store = sqliteStore({ file: ':memory:', clock: () => clock.wallNow() })
	await store.migrate()
	afterReplay = () => {}
	relayed = []
	const wake = vi.fn(() => afterReplay())
	dead = new DeadLetters({ store, runtime: clock, keepsHistory: true, maxPayloadBytes: 1_000, wake })
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

/** Claims all that is due and settles it. */
async function relay(settle: (id: string, attempt: number) => Settlement): Promise<void> {
	const targets = [{ destination: 'billing', limit: 10_000, since: 0, isOrdered: false, isProbe: false }]
	const request = { owner: 'relay-1', leaseMs: 60_000, targets, poisonCandidates: false, poisonAfter: 2 }
	const { rows } = await store.claim(request)
	const outcomes = rows.map(({ id, attempt }) => settle(id, attempt))
	await store.settle('relay-1', outcomes, true)
}

const die = (id: string, attempt: number): Settlement => ({
	...{ type: 'dead', id, attempt, cause: 'retries-exhausted', afterDeadLetter: 'skip' },
	error: toStoredError(
		new Error(`connect ECONNREFUSED 10.0.0.1:${attempt + Number.parseInt(id.slice(-4), 16)}`),
	),
})
const send = (id: string, attempt: number): Settlement => ({ type: 'sent', id, attempt })
const retry = (id: string, attempt: number): Settlement => ({
	...{ type: 'retry', id, attempt, inMs: 60_000, delayMs: null },
	error: DOWN,
})

/** The same some time after each replay. */
function relayLater(settle: (id: string, attempt: number) => Settlement): void {
	afterReplay = () => {
		clock.setTimer(50, () => {
			relayed.push(relay(settle))
		})
	}
}

async function bury(count: number): Promise<void> {
	await store.insert(Array.from({ length: count }, (_, index) => row(index + 1)))
	await relay(die)
	await clock.advance(1_000)
}

it('the same failure of many messages is one group, and is replayed by its fingerprint', async () => {
	await bury(2_500)
	const groups = await dead.groups()
	expect(groups).toMatchObject([{ count: 2_500, exampleId: idOf(1), fingerprint: DOWN.fingerprint }])
	const report = dead.replay({ fingerprint: groups[0]?.fingerprint })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 2_500, stopped: false })
	expect((await readStats(store)).totals).toMatchObject({ due: { count: 2_500 }, dead: { count: 0 } })
})

it('a canary goes through to the rest when messages are delivered', async () => {
	await bury(30)
	relayLater(send)
	const report = dead.replay({}, { all: true, canary: true })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 30, stopped: false })
})

it('a canary stops at the first attempt that fails as before', async () => {
	await bury(30)
	relayLater(retry)
	const report = dead.replay({}, { all: true, canary: true })
	await clock.runUntilIdle()
	expect(await report).toMatchObject({ replayed: 1, stoppedBy: 'same-failure', sameFailure: [idOf(1)] })
	expect(await dead.count()).toEqual({ count: 29, isCapped: false })
})

it('a replay takes none a second time that dies again while it goes on', async () => {
	await bury(1_500)
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

it('an edited letter is sent as it was changed', async () => {
	await bury(1)
	expect(await dead.edit(idOf(1), { payload: { total: 2 }, headers: { a: 'b' } })).toBe(true)
	expect(await store.find(idOf(1))).toMatchObject({
		payload: '{"total":2}',
		headers: '{"a":"b"}',
		attempts: 0,
	})
})

it('letters can be discarded one by one while all are gone through', async () => {
	await bury(250)
	for await (const { id } of dead.each()) await dead.discard({ ids: [id] })
	expect(await dead.count()).toEqual({ count: 0, isCapped: false })
	expect(await whyNotSent(store, idOf(7))).toContain('It was a dead letter and was discarded')
})

it('tells the life of a message in sentences', async () => {
	const why = () => whyNotSent(store, idOf(1))
	await store.insert([row(1, { notBefore: NOW + 5_000 })])
	expect(await why()).toContain('It is not due before its time, in 5 s (')
	expect(await why()).toContain('and besides no relay is running')
	const report = { id: 'relay-1', host: 'h', pid: 1, destinations: ['billing'], throughput: 1 }
	await clock.advance(6_000)
	await store.heartbeat({ ...report, inFlight: 0, sent: 0, failed: 0, dead: 0 }, 60_000)
	expect(await why()).toBe('It has been due for 1 s and is next: a relay takes it within a moment.')
	await relay(retry)
	expect(await why()).toBe(
		'It waits for its retry in 60 s after failure 1: Error: connect ECONNREFUSED 10.0.0.1:5432.',
	)
	await store.retryNow({}, 1)
	await store.pause('billing', 12_000, 'retry-after')
	expect(await why()).toContain('it asked by Retry-After to be left alone for 12 s more')
	await clock.advance(12_001)
	await relay(die)
	await clock.advance(3_000)
	expect(await why()).toContain(
		'It became a dead letter 3 s ago, for its retries were used up after 2 attempts',
	)
	await dead.replay({ ids: [idOf(1)] })
	await relay(send)
	expect(await why()).toBe('It was sent 0 ms ago, at attempt 1.')
})
