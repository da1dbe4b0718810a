/** The relay dies at every await of its cycle in turn; a second one takes over. What must hold after each is in `check`. */

import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { Outbox, Relay } from 'yaoki/outbox'
import type { Message } from '../../../src/outbox/message/message.ts'
import { Life, mortalHandler, mortalRuntime, mortalStore } from './crashing-store.ts'
import { type World, world } from './world.ts'

const LEASE_MS = 300
const PLAIN = ['a', 'b', 'slow', 'fails once', 'never works', 'told to wait', 'later']
/** Those that are sent twice by themselves. */
const TWICE = ['fails once', 'told to wait']
const KEYED = ['x1', 'y1', 'x2', 'y2', 'x3', 'y3']

async function fill({ outbox, clock }: World): Promise<void> {
	await outbox.enqueue(
		PLAIN.map((payload) => ({
			...{ topic: 'jobs', payload },
			...(payload === 'later' ? { notBefore: new Date(clock.wallNow() + 100) } : {}),
		})),
	)
	await outbox.enqueue(KEYED.map((payload) => ({ topic: 'ordered', key: payload.slice(0, 1), payload })))
}

/** Starts a relay that lives as long as it is given. What it sends is in the world's ledger; a kill leaves it as it is. */
async function startRelay(here: World, life: Life): Promise<Relay> {
	const runtime = mortalRuntime(here.clock, life)
	const send = here.sends(async ({ payload, attempts }: Message) => {
		if (payload === 'never works') throw permanent(new Error('no such order'))
		if (payload === 'fails once' && attempts === 1) throw new Error('try again')
		if (payload === 'told to wait' && attempts === 1)
			throw new HttpError(429, undefined, { retryAfterMs: 60 })
		// Longer than a heartbeat.
		if (payload === 'slow') await new Promise<void>((resolve) => runtime.setTimer(150, resolve))
	})
	const deliver = mortalHandler(send, life)
	const outbox = new Outbox({ store: mortalStore(here.store, life), runtime })
	const relay = new Relay(outbox, {
		destinations: { jobs: deliver, ordered: { deliver, order: true } },
		...{ runtime, leaseMs: LEASE_MS, pollMs: 100, concurrency: 2, batchSize: 3 },
		retry: { baseDelayMs: 50, maxDelayMs: 100, jitterStrategy: 'none' },
	})
	// A relay that dies in its start never answers.
	void relay.start()
	await here.clock.advance(0)
	return relay
}

/** Lives from start to stop, with a kill at this moment. */
async function live(here: World, diesAt: number): Promise<Life> {
	const life = new Life(diesAt)
	const relay = await startRelay(here, life)
	await here.clock.advance(500)
	const stopped = relay.stop()
	await here.clock.advance(50)
	if (!life.isOver) await stopped
	return life
}

async function check(here: World, life: Life): Promise<void> {
	const where = `killed ${life.lastWords}`
	const times = (payload: string) => here.payloads().filter((one) => one === payload).length
	const all = [...PLAIN, ...KEYED]
	// Nothing is lost, and nothing is stuck.
	expect(
		all.filter((payload) => times(payload) === 0),
		where,
	).toEqual([])
	const left = await here.outbox.list()
	expect(
		left.map(({ payload, status }) => [payload, status]),
		where,
	).toEqual([['never works', 'dead']])
	// A kill repeats at most what was being sent, or was sent and not yet written down, and each of those once.
	const unwritten = new Set(life.unwritten.values())
	const expected = (payload: string) => (TWICE.includes(payload) ? 2 : 1) + (unwritten.has(payload) ? 1 : 0)
	expect(
		all.filter((payload) => times(payload) > expected(payload)),
		where,
	).toEqual([])
	// Order per key: what was sent once never comes before its predecessor; a repeat is one of the latest.
	for (const key of ['x', 'y']) {
		const sent = here.payloads().filter((one) => String(one).startsWith(key))
		expect(sent, where).toEqual(sent.toSorted())
	}
}

test('the relay may die at every await of its cycle: nothing is lost, stuck or out of order', async () => {
	const whole = await world('whole')
	await fill(whole)
	const { moments } = await live(whole, Infinity)
	expect(moments).toBeGreaterThan(100)
	expect(await whole.outbox.list()).toHaveLength(1)
	await whole[Symbol.asyncDispose]()

	for (let diesAt = 1; diesAt <= moments; diesAt++) {
		const here = await world(diesAt)
		await fill(here)
		const life = await live(here, diesAt)
		expect(life.isOver).toBe(true)
		await here.clock.advance(LEASE_MS)
		const second = await startRelay(here, new Life(Infinity))
		await here.clock.advance(5_000)
		await check(here, life)
		const stopped = second.stop()
		await here.clock.advance(100)
		await stopped
		await here[Symbol.asyncDispose]()
	}
}, 120_000)
