/** Claims that the database has committed and whose response the relay never received. */
import { expect, test } from 'vitest'
import { TimeoutError } from '../../../src/core/errors/errors.ts'
import type { ClaimRequest } from '../../../src/outbox/store/rows.ts'
import { newRow } from '../store/rows.ts'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

/** Much longer than each test: what is sent was not sent because a lease ended. */
const LEASE = { leaseMs: 600_000 }

const lost = () => new Error('the connection was lost')

/** Loses the responses of the first claims that `isChosen` selects and that claim something. Returns how many it has lost. */
function loseResponses({ store }: TestSystem, times = 1, isChosen = (_: ClaimRequest) => true): () => number {
	const claim = store.claim.bind(store)
	let losses = 0
	store.claim = async (request) => {
		const result = await claim(request)
		if (losses === times || result.rows.length === 0 || !isChosen(request)) return result
		losses++
		throw lost()
	}
	return () => losses
}

const sortedPayloads = (system: TestSystem) =>
	system
		.payloads()
		.map(Number)
		.toSorted((a, b) => a - b)

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

test('sends the messages of a claim whose response was lost long before their lease ends, as their first attempt', async () => {
	await using system = await setup()
	const losses = loseResponses(system, 3)
	await system.enqueue(40)
	await system.relay({ jobs: system.sends() }, { ...LEASE, maxConcurrent: 8 })
	await system.clock.advance(5_000)
	expect(losses()).toBe(3)
	expect(sortedPayloads(system)).toEqual(upTo(40))
	expect(new Set(system.sendings.map(({ attempts }) => attempts))).toEqual(new Set([1]))
	await system.clock.advance(2 * LEASE.leaseMs)
	expect(system.sendings).toHaveLength(40)
	expect(await system.outbox.list()).toEqual([])
})

test('keeps the order of keys when the response of a run is lost', async () => {
	await using system = await setup()
	const losses = loseResponses(system, 2, ({ targets }) => targets.some(({ perKey = 1 }) => perKey > 1))
	for (let round = 0; round < 10; round++) for (const key of ['a', 'b']) await system.enqueue(1, { key })
	await system.relay({ jobs: { deliver: system.sends(() => system.pause(5)), order: true } }, LEASE)
	await system.clock.advance(10_000)
	expect(losses()).toBe(2)
	const ofKey = (isFirst: boolean) =>
		system.payloads().filter((payload) => (Number(payload) % 2 === 1) === isFirst)
	expect(ofKey(true)).toEqual(upTo(20).filter((n) => n % 2 === 1))
	expect(ofKey(false)).toEqual(upTo(20).filter((n) => n % 2 === 0))
})

test('finds a claim that the database commits only after the relay has claimed again', async () => {
	await using system = await setup()
	const claim = system.store.claim.bind(system.store)
	let late: ClaimRequest | undefined
	system.store.claim = (request) => {
		if (late || request.poisonCandidates) return claim(request)
		late = request
		return Promise.reject(lost())
	}
	await system.relay({ jobs: system.sends() }, LEASE)
	await system.clock.advance(9_000)
	if (!late) throw new Error('no claim')
	// In one tick, so that the relay cannot claim the message first.
	const inserted = system.store.insert([newRow({ destination: 'jobs' })])
	const { rows } = await claim(late)
	await inserted
	expect(rows).toHaveLength(1)
	await system.clock.advance(10_000)
	expect(system.sendings).toMatchObject([{ id: rows[0]?.id, attempts: 1 }])
})

test('finds a claim that was committed and never answered', async () => {
	await using system = await setup()
	const claim = system.store.claim.bind(system.store)
	let isHung = false
	system.store.claim = async (request) => {
		const result = await claim(request)
		if (isHung || result.rows.length === 0) return result
		isHung = true
		return new Promise(() => {})
	}
	await system.enqueue(3)
	await system.relay({ jobs: system.sends() }, { ...LEASE, leaseMs: 60_000 })
	// The relay gives the claim up after half of a lease.
	await system.clock.advance(35_000)
	expect(sortedPayloads(system)).toEqual([1, 2, 3])
	expect(system.sendings.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
})

test('keeps what it is sending, what is queued and what is not yet written', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(30)
	there.delay = (method) => (method === 'settle' ? 700 : 0)
	const deliver = system.sends(() => there.pause(400))
	await there.relay({ jobs: { deliver, maxConcurrent: 3 } }, LEASE)
	await system.clock.advance(600)
	const losses = loseResponses(system, 2)
	await system.clock.advance(1_000)
	// Another relay would take everything that is released too early.
	await system.relay({ jobs: { deliver: system.sends(() => system.pause(400)), maxConcurrent: 3 } }, LEASE)
	await system.clock.advance(60_000)
	expect(losses()).toBe(2)
	expect(sortedPayloads(system)).toEqual(upTo(30))
	expect(there.calls).toContain('claimsOf')
	expect([...there.eventsOf('relay_lease_lost'), ...system.eventsOf('relay_lease_lost')]).toEqual([])
	expect(await system.outbox.list()).toEqual([])
})

test('gives back a poison candidate whose claim was lost, without blaming it', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const target = { destination: 'jobs', limit: 1, since: 0, isOrdered: false, isProbe: false }
	const request = { leaseMs: 1_000, targets: [target], poisonCandidates: false, poisonAfter: 9 }
	for (const owner of ['first', 'second', 'third']) {
		await system.store.claim({ ...request, owner })
		await system.clock.advance(2_000)
	}
	const losses = loseResponses(system, 1, ({ poisonCandidates }) => poisonCandidates)
	await system.relay({ jobs: system.sends() }, LEASE)
	await system.clock.advance(10_000)
	expect(losses()).toBe(1)
	expect(system.sendings).toMatchObject([{ id, attempts: 4 }])
})

test('a relay that stops gives back what a lost claim left', async () => {
	await using system = await setup()
	const losses = loseResponses(system, Infinity)
	const ids = await system.enqueue(2)
	const relay = await system.relay({ jobs: system.sends() }, LEASE)
	await system.clock.advance(0)
	const stopped = relay.stop()
	await system.clock.advance(5_000)
	await stopped
	expect(losses()).toBe(1)
	for (const id of ids) expect(await system.store.find(id)).toMatchObject({ attempts: 0, lockedBy: null })
})

test('looks for lost claims only after a claim with an unknown outcome, and stops when a lease is over', async () => {
	await using system = await setup()
	await using there = new Process(system)
	const checks = () => there.calls.filter((method) => method === 'claimsOf').length
	await system.enqueue(20)
	await there.relay({ jobs: system.sends() }, { leaseMs: 60_000 })
	await system.clock.advance(60_000)
	expect(checks()).toBe(0)
	// The database has cancelled this claim itself.
	there.fault = (method, nth) =>
		method === 'claim' && nth % 2 ? new TimeoutError('claim', 10_000) : undefined
	await system.clock.advance(10_000)
	expect(checks()).toBe(0)
	let left = 1
	there.fault = (method) => (method === 'claim' && left-- > 0 ? lost() : undefined)
	await system.clock.advance(70_000)
	const made = checks()
	expect(made).toBeGreaterThan(1)
	await system.clock.advance(300_000)
	expect(checks()).toBe(made)
})

test('goes on claiming when the search for lost claims fails, and repeats the search', async () => {
	await using system = await setup()
	await using there = new Process(system)
	there.fault = (method, nth) => (method === 'claimsOf' && nth < 3 ? lost() : undefined)
	const losses = loseResponses(system)
	await system.enqueue(5)
	await there.relay({ jobs: system.sends() }, LEASE)
	await system.clock.advance(500)
	await system.enqueue(5)
	await system.clock.advance(500)
	expect(losses()).toBe(1)
	expect(sortedPayloads(system)).toEqual([6, 7, 8, 9, 10])
	await system.clock.advance(20_000)
	expect(sortedPayloads(system)).toEqual(upTo(10))
})
