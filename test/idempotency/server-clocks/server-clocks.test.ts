import { describe, expect, onTestFinished, test } from 'vitest'
import type { Runtime } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import {
	fetchIdempotency,
	type IdempotencyOptions,
	memoryIdempotencyStore,
	sqliteIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { openMemory } from '../store/open-memory.ts'
import { openSqlite } from '../store/open-sqlite.ts'
import { LEASE_MS, request } from '../store/requests.ts'
import { clockCases } from './clock-cases.ts'
import { claimOf, identityOf, RESPONSE, server } from './server.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND

describe('memory', () => clockCases(openMemory))

describe('SQLite', () => clockCases(openSqlite))

/** A store whose clock is right, and a server. */
function setup(offsetMs: number, options: Partial<IdempotencyOptions> = {}) {
	const storeClock = virtualRuntime()
	const store = memoryIdempotencyStore({ runtime: storeClock })
	const one = server(store, offsetMs, options)
	/** Time passes for all. */
	const letPass = async (ms: number) => {
		await storeClock.advance(ms)
		await one.advance(ms)
	}
	return { store, storeClock, one, letPass, other: server(store, 0, options) }
}

const post = () =>
	new Request('https://shop.example.com/charges', { method: 'POST', headers: { 'idempotency-key': 'k1' } })

test.each([HOUR, -HOUR])('Retry-After of a server whose clock differs by %i ms', async (offsetMs) => {
	const { storeClock, one, other } = setup(offsetMs, { leaseMs: 60 * SECOND, maxRunMs: 10 * HOUR })
	const entered = Promise.withResolvers<void>()
	const hang = fetchIdempotency(other.engine, () => {
		entered.resolve()
		return new Promise<Response>(() => {})
	})
	void hang(post())
	await entered.promise
	const handle = fetchIdempotency(one.engine, () => new Response('created', { status: 201 }))
	const send = () => one.run(() => handle(post()))
	await storeClock.advance(20 * SECOND)
	const response = await send()
	expect(response.status).toBe(409)
	expect(['3', '4', '5']).toContain(response.headers.get('retry-after'))
	await storeClock.advance(39.5 * SECOND)
	expect((await send()).headers.get('retry-after')).toBe('1')
	await storeClock.advance(SECOND / 2)
	expect((await send()).status).toBe(201)
})

describe('while a handler runs, the clock of its server', () => {
	const options = { leaseMs: 60 * SECOND, maxRunMs: 10 * HOUR }

	test.each([HOUR, -HOUR])('is set by %i ms: the claim continues', async (byMs) => {
		const { one, other, letPass } = setup(0, options)
		const claim = claimOf(await one.begin())
		await letPass(10 * SECOND)
		one.setClock(byMs)
		for (let n = 0; n < 30; n++) await letPass(10 * SECOND)
		expect(claim.signal.aborted).toBe(false)
		expect(await other.begin()).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
		expect(await one.run((engine) => engine.complete(claim, RESPONSE))).toBe(true)
	})

	test('goes on by an hour while it is suspended: the store says that the claim continues', async () => {
		const { one, other, letPass } = setup(0, options)
		const claim = claimOf(await one.begin())
		await letPass(10 * SECOND)
		one.suspend(HOUR)
		for (let n = 0; n < 30; n++) await letPass(10 * SECOND)
		expect(claim.signal.aborted).toBe(false)
		expect(await other.begin()).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
	})

	test('goes on by an hour while it is suspended: the store says that the claim was taken over', async () => {
		const { storeClock, one, other, letPass } = setup(0, options)
		const claim = claimOf(await one.begin())
		one.suspend(HOUR)
		await storeClock.advance(HOUR)
		const next = claimOf(await other.begin())
		await letPass(20 * SECOND)
		expect(claim.signal.aborted).toBe(true)
		expect(await one.run((engine) => engine.complete(claim, RESPONSE))).toBe(false)
		expect(await other.run((engine) => engine.complete(next, RESPONSE))).toBe(true)
	})
})

test.each([HOUR, -HOUR])('a request waits for waitMs although the clock is set by %i ms', async (byMs) => {
	const { one, other } = setup(0, { waitMs: 2 * SECOND })
	await other.begin()
	let isWaiting = true
	const waiting = one.engine.begin(identityOf(), 'f1').finally(() => {
		isWaiting = false
	})
	await one.advance(SECOND / 2)
	one.setClock(byMs)
	await one.advance(SECOND)
	expect(isWaiting).toBe(true)
	await one.advance(SECOND / 2)
	expect(await waiting).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
})

test.each([HOUR, -HOUR])(
	'processes of one SQLite file whose wall clocks differ by %i ms: a lease is neither shorter nor stuck',
	async (offsetMs) => {
		const machine = virtualRuntime()
		const shifted: Runtime = {
			now: () => machine.now(),
			wallNow: () => machine.wallNow() + offsetMs,
			setTimer: (ms, fn) => machine.setTimer(ms, fn),
			random: () => machine.random(),
		}
		const file = temporaryFile()
		const stores = [machine, shifted].map((runtime) => sqliteIdempotencyStore({ file, runtime }))
		for (const store of stores) onTestFinished(() => store.close())
		const [one, two] = stores
		if (!one || !two) throw new Error('expected two stores')
		await one.migrate()
		await one.claim(request('k', 't1'))
		const kinds = async () => [
			(await two.claim(request('k', 't2'))).kind,
			(await one.claim(request('k', 't3'))).kind,
		]
		expect(await kinds()).toEqual(['running', 'running'])
		await machine.advance(LEASE_MS - SECOND)
		expect(await kinds()).toEqual(['running', 'running'])
		// The time of the file runs slightly slower while it is ahead of a wall clock.
		await machine.advance(LEASE_MS / 4)
		expect(await kinds()).toEqual(['claimed', 'running'])
	},
)
