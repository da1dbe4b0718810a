/** Claims that the database has committed and whose response the relay never received. */
import { expect, test } from 'vitest'
import { TimeoutError } from '../../../src/core/errors/errors.ts'
import type { ClaimRequest } from '../../../src/outbox/store/rows.ts'
import { newRow } from '../store/rows.ts'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

/** Much longer than each test: what is sent was not sent because a lease ended. */
const LEASE = { leaseMs: 600_000 }

const lost = () => new Error('the connection was lost')

/** Loses the responses of the first claims that `isChosen` selects and that claim something. Returns how many it has lost. */
function loseResponses({ store }: World, times = 1, isChosen = (_: ClaimRequest) => true): () => number {
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

const sortedPayloads = (w: World) =>
	w
		.payloads()
		.map(Number)
		.toSorted((a, b) => a - b)

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

test('sends the messages of a claim whose response was lost long before their lease ends, as their first attempt', async () => {
	await using w = await world()
	const losses = loseResponses(w, 3)
	await w.enqueue(40)
	await w.relay({ jobs: w.sends() }, { ...LEASE, maxConcurrent: 8 })
	await w.clock.advance(5_000)
	expect(losses()).toBe(3)
	expect(sortedPayloads(w)).toEqual(upTo(40))
	expect(new Set(w.sendings.map(({ attempts }) => attempts))).toEqual(new Set([1]))
	await w.clock.advance(2 * LEASE.leaseMs)
	expect(w.sendings).toHaveLength(40)
	expect(await w.outbox.list()).toEqual([])
})

test('keeps the order of keys when the response of a run is lost', async () => {
	await using w = await world()
	const losses = loseResponses(w, 2, ({ targets }) => targets.some(({ perKey = 1 }) => perKey > 1))
	for (let round = 0; round < 10; round++) for (const key of ['a', 'b']) await w.enqueue(1, { key })
	await w.relay({ jobs: { deliver: w.sends(() => w.pause(5)), order: true } }, LEASE)
	await w.clock.advance(10_000)
	expect(losses()).toBe(2)
	const ofKey = (isFirst: boolean) =>
		w.payloads().filter((payload) => (Number(payload) % 2 === 1) === isFirst)
	expect(ofKey(true)).toEqual(upTo(20).filter((n) => n % 2 === 1))
	expect(ofKey(false)).toEqual(upTo(20).filter((n) => n % 2 === 0))
})

test('finds a claim that the database commits only after the relay has claimed again', async () => {
	await using w = await world()
	const claim = w.store.claim.bind(w.store)
	let late: ClaimRequest | undefined
	w.store.claim = (request) => {
		if (late || request.poisonCandidates) return claim(request)
		late = request
		return Promise.reject(lost())
	}
	await w.relay({ jobs: w.sends() }, LEASE)
	await w.clock.advance(9_000)
	if (!late) throw new Error('no claim')
	// In one tick, so that the relay cannot claim the message first.
	const inserted = w.store.insert([newRow({ destination: 'jobs' })])
	const { rows } = await claim(late)
	await inserted
	expect(rows).toHaveLength(1)
	await w.clock.advance(10_000)
	expect(w.sendings).toMatchObject([{ id: rows[0]?.id, attempts: 1 }])
})

test('finds a claim that was committed and never answered', async () => {
	await using w = await world()
	const claim = w.store.claim.bind(w.store)
	let isHung = false
	w.store.claim = async (request) => {
		const result = await claim(request)
		if (isHung || result.rows.length === 0) return result
		isHung = true
		return new Promise(() => {})
	}
	await w.enqueue(3)
	await w.relay({ jobs: w.sends() }, { ...LEASE, leaseMs: 60_000 })
	// The relay gives the claim up after half of a lease.
	await w.clock.advance(35_000)
	expect(sortedPayloads(w)).toEqual([1, 2, 3])
	expect(w.sendings.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
})

test('keeps what it is sending, what is queued and what is not yet written', async () => {
	await using w = await world()
	await using there = new Process(w)
	await w.enqueue(30)
	there.delay = (method) => (method === 'settle' ? 700 : 0)
	const deliver = w.sends(() => there.pause(400))
	await there.relay({ jobs: { deliver, maxConcurrent: 3 } }, LEASE)
	await w.clock.advance(600)
	const losses = loseResponses(w, 2)
	await w.clock.advance(1_000)
	// Another relay would take everything that is released too early.
	await w.relay({ jobs: { deliver: w.sends(() => w.pause(400)), maxConcurrent: 3 } }, LEASE)
	await w.clock.advance(60_000)
	expect(losses()).toBe(2)
	expect(sortedPayloads(w)).toEqual(upTo(30))
	expect(there.calls).toContain('claimsOf')
	expect([...there.eventsOf('relay_lease_lost'), ...w.eventsOf('relay_lease_lost')]).toEqual([])
	expect(await w.outbox.list()).toEqual([])
})

test('gives back a poison candidate whose claim was lost, without blaming it', async () => {
	await using w = await world()
	const [id = ''] = await w.enqueue(1)
	const target = { destination: 'jobs', limit: 1, since: 0, isOrdered: false, isProbe: false }
	const request = { leaseMs: 1_000, targets: [target], poisonCandidates: false, poisonAfter: 9 }
	for (const owner of ['first', 'second', 'third']) {
		await w.store.claim({ ...request, owner })
		await w.clock.advance(2_000)
	}
	const losses = loseResponses(w, 1, ({ poisonCandidates }) => poisonCandidates)
	await w.relay({ jobs: w.sends() }, LEASE)
	await w.clock.advance(10_000)
	expect(losses()).toBe(1)
	expect(w.sendings).toMatchObject([{ id, attempts: 4 }])
})

test('a relay that stops gives back what a lost claim left', async () => {
	await using w = await world()
	const losses = loseResponses(w, Infinity)
	const ids = await w.enqueue(2)
	const relay = await w.relay({ jobs: w.sends() }, LEASE)
	await w.clock.advance(0)
	const stopped = relay.stop()
	await w.clock.advance(5_000)
	await stopped
	expect(losses()).toBe(1)
	for (const id of ids) expect(await w.store.find(id)).toMatchObject({ attempts: 0, lockedBy: null })
})

test('looks for lost claims only after a claim with an unknown outcome, and stops when a lease is over', async () => {
	await using w = await world()
	await using there = new Process(w)
	const checks = () => there.calls.filter((method) => method === 'claimsOf').length
	await w.enqueue(20)
	await there.relay({ jobs: w.sends() }, { leaseMs: 60_000 })
	await w.clock.advance(60_000)
	expect(checks()).toBe(0)
	// The database has cancelled this claim itself.
	there.fault = (method, nth) =>
		method === 'claim' && nth % 2 ? new TimeoutError('claim', 10_000) : undefined
	await w.clock.advance(10_000)
	expect(checks()).toBe(0)
	let left = 1
	there.fault = (method) => (method === 'claim' && left-- > 0 ? lost() : undefined)
	await w.clock.advance(70_000)
	const made = checks()
	expect(made).toBeGreaterThan(1)
	await w.clock.advance(300_000)
	expect(checks()).toBe(made)
})

test('goes on claiming when the search for lost claims fails, and repeats the search', async () => {
	await using w = await world()
	await using there = new Process(w)
	there.fault = (method, nth) => (method === 'claimsOf' && nth < 3 ? lost() : undefined)
	const losses = loseResponses(w)
	await w.enqueue(5)
	await there.relay({ jobs: w.sends() }, LEASE)
	await w.clock.advance(500)
	await w.enqueue(5)
	await w.clock.advance(500)
	expect(losses()).toBe(1)
	expect(sortedPayloads(w)).toEqual([6, 7, 8, 9, 10])
	await w.clock.advance(20_000)
	expect(sortedPayloads(w)).toEqual(upTo(10))
})
