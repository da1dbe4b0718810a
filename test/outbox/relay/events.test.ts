import { expect, test, vi } from 'vitest'
import { permanent } from 'yaoki'
import type { RelayEvent, RelayOptions } from 'yaoki/outbox'
import { Process } from './process.ts'
import { world } from './world.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 1 } as const

test('emits each event once with all its fields', async () => {
	await using here = await world()
	const plan: Record<string, () => unknown> = {
		good: () => here.pause(40),
		flaky: () => {
			throw Object.assign(new Error('again'), { name: 'PaperJam' })
		},
		bad: () => {
			throw permanent(new Error('never'))
		},
	}
	for (const payload of Object.keys(plan)) await here.enqueue(1, { payload, key: 'order-7' })
	const relay = await here.relay(
		{ jobs: ({ payload }) => plan[`${payload}`]?.() },
		{ name: 'mail', retry: RETRY, circuitBreaker: false },
	)
	await here.clock.advance(5_000)
	const stopped = relay.stop()
	await here.clock.advance(10)
	await stopped
	expect(here.events.map(({ type }) => type)).toEqual([
		...['relay_started', 'relay_retry_scheduled', 'relay_dead_letter', 'relay_sent'],
		...['relay_dead_letter', 'relay_stopping', 'relay_stopped'],
	])
	expect(here.events.every((event) => event.emitter === 'mail' && event.timestamp > 0)).toBe(true)
	const base = { topic: 'jobs', destination: 'jobs', attempts: 1 }
	expect(here.eventsOf('relay_sent')).toMatchObject([{ ...base, durationMs: 40, lagMs: 40 }])
	expect(here.eventsOf('relay_retry_scheduled')).toMatchObject([
		{ ...base, delayMs: 1_000, errorType: 'PaperJam', errorMessage: 'again' },
	])
	expect(here.eventsOf('relay_dead_letter')).toMatchObject([
		{ ...base, cause: 'permanent', errorMessage: 'never' },
		{ cause: 'retries-exhausted', attempts: 2, errorMessage: 'again' },
	])
	expect(here.events.filter((event) => 'key' in event)).toEqual([])
	expect(JSON.parse(JSON.stringify(here.events))).toEqual(here.events)
})

test('reports an exception of a listener as a console warning', async () => {
	await using here = await world()
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	await here.enqueue(3)
	const onEvent = () => {
		throw new Error('a bug in a listener')
	}
	const relay = await here.relay({ jobs: here.sends() }, { onEvent })
	await here.clock.advance(100)
	expect(await here.outbox.list()).toEqual([])
	expect(warn).toHaveBeenCalled()
	await relay.stop()
	warn.mockRestore()
})

test('creates no event without a listener', async () => {
	/** Returns how often the wall clock was read, which happens once per event and for leases. */
	const looks = async (onEvent: RelayOptions['onEvent']): Promise<number> => {
		await using here = await world()
		await using there = new Process(here)
		let count = 0
		const runtime = {
			...there.runtime,
			wallNow: () => {
				count++
				return here.clock.wallNow()
			},
		}
		await here.enqueue(3)
		const relay = there.make({ jobs: here.sends() }, { runtime, onEvent })
		await relay.start()
		await here.clock.advance(500)
		expect(here.sendings).toHaveLength(3)
		await relay.stop()
		return count
	}
	let events = 0
	const heard = await looks(() => {
		events++
	})
	expect(events).toBeGreaterThan(3)
	expect(await looks(undefined)).toBe(heard - events)
})

test('listeners can be added and removed while it runs', async () => {
	await using here = await world()
	const relay = await here.relay({ jobs: here.sends() })
	const received: RelayEvent[] = []
	const unsubscribe = relay.subscribe((event) => received.push(event))
	await here.enqueue(1)
	await here.clock.advance(100)
	unsubscribe()
	await here.enqueue(1)
	await here.clock.advance(100)
	expect(received.map(({ type }) => type)).toEqual(['relay_sent'])
})

test('stats count messages in flight, queued, sent, failed and dead', async () => {
	await using here = await world()
	const bad = ({ payload }: { payload: unknown }) => {
		if (payload === 1) throw permanent(new Error('never'))
		if (payload === 2) throw new Error('later')
		return Number(payload) < 5 ? undefined : here.pause(60_000)
	}
	const relay = await here.relay({ jobs: { deliver: bad, maxConcurrent: 3 } })
	expect(relay.stats).toEqual({ inFlight: 0, queued: 0, sent: 0, failed: 0, dead: 0 })
	await here.enqueue(10)
	await here.clock.advance(500)
	expect(relay.stats).toMatchObject({ inFlight: 3, sent: 2, failed: 1, dead: 1 })
	expect(relay.stats.queued).toBeGreaterThan(0)
	await here.clock.advance(6_000)
	const [row] = await here.store.relays()
	expect(row).toMatchObject({ inFlight: 3, sent: 2, failed: 1, dead: 1, destinations: ['jobs'] })
	// Counts stay readable after the stop.
	const stopped = relay.stop({ timeoutMs: 10 })
	await here.clock.advance(2_000)
	await stopped
	expect(relay.stats).toMatchObject({ inFlight: 0, queued: 0, sent: 2, dead: 1 })
})

test('a released message has a reason', async () => {
	await using here = await world()
	const notBefore = new Date(here.clock.wallNow() + 3_000)
	await here.enqueue(1, { payload: 'candidate', notBefore } as object)
	here.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await here.enqueue(30)
	await here.relay(
		{ jobs: { deliver: here.sends(() => here.pause(400)), maxConcurrent: 1 } },
		{ pollMs: 1_000 },
	)
	await here.clock.advance(20_000)
	const reasons = here.eventsOf('relay_released').map(({ reason }) => reason)
	expect(new Set(reasons)).toEqual(new Set(['poison-check']))
	expect(here.eventsOf('relay_sent')).toHaveLength(31)
})
