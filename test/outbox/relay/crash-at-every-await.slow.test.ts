/** The relay crashes at every await of its cycle in turn, and a second one takes over. `check` has the invariants. */

import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { Outbox, Relay } from 'yaoki/outbox'
import type { Message } from '../../../src/outbox/message/message.ts'
import { CrashPoint, crashingHandler, crashingRuntime, crashingStore } from './crashing-store.ts'
import { setup, type TestSystem } from './setup.ts'

const LEASE_MS = 300
const PLAIN = ['a', 'b', 'slow', 'fails once', 'never works', 'retry after', 'later']
/** Messages that are sent twice without a crash. */
const TWICE = ['fails once', 'retry after']
const KEYED = ['x1', 'y1', 'x2', 'y2', 'x3', 'y3']

async function fill({ outbox, clock }: TestSystem): Promise<void> {
	await outbox.enqueue(
		PLAIN.map((payload) => ({
			topic: 'jobs',
			payload,
			...(payload === 'later' ? { notBefore: new Date(clock.wallNow() + 100) } : {}),
		})),
	)
	await outbox.enqueue(KEYED.map((payload) => ({ topic: 'ordered', key: payload.slice(0, 1), payload })))
}

/** Starts a relay that crashes as planned. The test system records what it sends. */
async function startRelay(system: TestSystem, crash: CrashPoint): Promise<Relay> {
	const runtime = crashingRuntime(system.clock, crash)
	const send = system.sends(async ({ payload, attempts }: Message) => {
		if (payload === 'never works') throw permanent(new Error('no such order'))
		if (payload === 'fails once' && attempts === 1) throw new Error('try again')
		if (payload === 'retry after' && attempts === 1) throw new HttpError(429, undefined, { retryAfterMs: 60 })
		// Longer than a heartbeat.
		if (payload === 'slow') await new Promise<void>((resolve) => runtime.setTimer(150, resolve))
	})
	const deliver = crashingHandler(send, crash)
	const outbox = new Outbox({ store: crashingStore(system.store, crash), runtime })
	const relay = new Relay(outbox, {
		destinations: { jobs: deliver, ordered: { deliver, order: true } },
		runtime,
		leaseMs: LEASE_MS,
		pollMs: 100,
		maxConcurrent: 2,
		batchSize: 3,
		retry: { baseDelayMs: 50, maxDelayMs: 100, jitterStrategy: 'none' },
	})
	// A relay that crashes in its start never resolves.
	void relay.start()
	await system.clock.advance(0)
	return relay
}

/** Runs from start to stop, with a crash at this moment. */
async function live(system: TestSystem, crashesAt: number): Promise<CrashPoint> {
	const crash = new CrashPoint(crashesAt)
	const relay = await startRelay(system, crash)
	await system.clock.advance(500)
	const stopped = relay.stop()
	await system.clock.advance(50)
	if (!crash.hasCrashed) await stopped
	return crash
}

async function check(system: TestSystem, crash: CrashPoint): Promise<void> {
	const where = `killed ${crash.crashedAt}`
	const times = (payload: string) => system.payloads().filter((one) => one === payload).length
	const all = [...PLAIN, ...KEYED]
	// Nothing is lost, and nothing is stuck.
	expect(
		all.filter((payload) => times(payload) === 0),
		where,
	).toEqual([])
	const left = await system.outbox.list()
	expect(
		left.map(({ payload, status }) => [payload, status]),
		where,
	).toEqual([['never works', 'dead']])
	// A crash repeats at most the messages in flight and those sent but not acked, each once.
	const unwritten = new Set(crash.unacked.values())
	const expected = (payload: string) => (TWICE.includes(payload) ? 2 : 1) + (unwritten.has(payload) ? 1 : 0)
	expect(
		all.filter((payload) => times(payload) > expected(payload)),
		where,
	).toEqual([])
	// Order per key: a first send never precedes its predecessor; a duplicate is one of the latest.
	for (const key of ['x', 'y']) {
		const sent = system.payloads().filter((one) => String(one).startsWith(key))
		expect(sent, where).toEqual(sent.toSorted())
	}
}

test('a crash at any await loses nothing, blocks nothing and keeps the order', async () => {
	const whole = await setup('whole')
	await fill(whole)
	const { moments } = await live(whole, Infinity)
	expect(moments).toBeGreaterThan(100)
	expect(await whole.outbox.list()).toHaveLength(1)
	await whole[Symbol.asyncDispose]()

	for (let crashesAt = 1; crashesAt <= moments; crashesAt++) {
		// The same seed: the jitter of a Retry-After decides how many moments there are.
		const system = await setup('whole')
		await fill(system)
		const crash = await live(system, crashesAt)
		expect(crash.hasCrashed).toBe(true)
		await system.clock.advance(LEASE_MS)
		const second = await startRelay(system, new CrashPoint(Infinity))
		await system.clock.advance(5_000)
		await check(system, crash)
		const stopped = second.stop()
		await system.clock.advance(100)
		await stopped
		await system[Symbol.asyncDispose]()
	}
})
