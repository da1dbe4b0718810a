import { expect, test, vi } from 'vitest'
import { permanent } from 'yaoki'
import type { RelayEvent, RelayOptions } from 'yaoki/outbox'
import { Process } from '../relay/process.ts'
import { setup } from '../relay/setup.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 1 } as const

test('events of messages are emitted once with all their fields', async () => {
	await using system = await setup()
	const plan: Record<string, () => unknown> = {
		good: () => system.pause(40),
		flaky: () => {
			throw Object.assign(new Error('again'), { name: 'PaperJam' })
		},
		bad: () => {
			throw permanent(new Error('never'))
		},
	}
	for (const payload of Object.keys(plan)) await system.enqueue(1, { payload, key: 'order-7' })
	const relay = await system.relay(
		{ jobs: ({ payload }) => plan[`${payload}`]?.() },
		{ name: 'mail', retry: RETRY, circuitBreaker: false },
	)
	await system.clock.advance(5_000)
	const stopped = relay.stop()
	await system.clock.advance(10)
	await stopped
	expect(system.events.map(({ type }) => type)).toEqual([
		...['relay_started', 'relay_retry_scheduled', 'relay_dead_letter', 'relay_sent'],
		...['relay_dead_letter', 'relay_stopping', 'relay_stopped'],
	])
	expect(system.events.filter(({ emitter, timestamp }) => emitter !== 'mail' || timestamp <= 0)).toEqual([])
	const base = { topic: 'jobs', destination: 'jobs', attempts: 1 }
	expect(system.eventsOf('relay_sent')).toMatchObject([{ ...base, durationMs: 40, lagMs: 40 }])
	expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([
		{ ...base, delayMs: 1_000, errorType: 'PaperJam', errorMessage: 'again' },
	])
	expect(system.eventsOf('relay_dead_letter')).toMatchObject([
		{ ...base, cause: 'permanent', errorMessage: 'never' },
		{ cause: 'retries-exhausted', attempts: 2, errorMessage: 'again' },
	])
	expect(system.events.filter((event) => 'key' in event)).toEqual([])
	expect(JSON.parse(JSON.stringify(system.events))).toEqual(system.events)
})

test('reports an exception of a listener as a console warning', async () => {
	await using system = await setup()
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	await system.enqueue(3)
	const onEvent = () => {
		throw new Error('a bug in a listener')
	}
	const relay = await system.relay({ jobs: system.sends() }, { onEvent })
	await system.clock.advance(100)
	expect(await system.outbox.list()).toEqual([])
	expect(warn).toHaveBeenCalled()
	await relay.stop()
	warn.mockRestore()
})

test('creates no event without a listener', async () => {
	/** Returns how often the wall clock was read, which happens once per event and for leases. */
	const countReads = async (onEvent: RelayOptions['onEvent']): Promise<number> => {
		await using system = await setup()
		await using there = new Process(system)
		let count = 0
		const runtime = {
			...there.runtime,
			wallNow: () => {
				count++
				return system.clock.wallNow()
			},
		}
		await system.enqueue(3)
		const relay = there.make({ jobs: system.sends() }, { runtime, onEvent })
		await relay.start()
		await system.clock.advance(500)
		expect(system.sendings).toHaveLength(3)
		await relay.stop()
		return count
	}
	let events = 0
	const reads = await countReads(() => {
		events++
	})
	expect(events).toBeGreaterThan(3)
	expect(await countReads(undefined)).toBe(reads - events)
})

test('listeners can be added and removed while it runs', async () => {
	await using system = await setup()
	const relay = await system.relay({ jobs: system.sends() })
	const received: RelayEvent[] = []
	const unsubscribe = relay.subscribe((event) => received.push(event))
	await system.enqueue(1)
	await system.clock.advance(100)
	unsubscribe()
	await system.enqueue(1)
	await system.clock.advance(100)
	expect(received.map(({ type }) => type)).toEqual(['relay_sent'])
})

test('relay_released has the reason of the release', async () => {
	await using system = await setup()
	const notBefore = new Date(system.clock.wallNow() + 3_000)
	await system.enqueue(1, { payload: 'candidate', notBefore } as object)
	system.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await system.enqueue(30)
	await system.relay(
		{ jobs: { deliver: system.sends(() => system.pause(400)), maxConcurrent: 1 } },
		{ pollMs: 1_000 },
	)
	await system.clock.advance(20_000)
	const reasons = system.eventsOf('relay_released').map(({ reason }) => reason)
	expect(new Set(reasons)).toEqual(new Set(['poison-check']))
	expect(system.eventsOf('relay_sent')).toHaveLength(31)
})

test('relay_state_change has the reason and the time without claims, until the circuit closes', async () => {
	await using system = await setup()
	let isDown = true
	const deliver = system.sends(() => {
		if (isDown) throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
	})
	const resetBackoff = { initialMs: 2_000, jitterStrategy: 'none' } as const
	await system.enqueue(1)
	await system.relay(
		{ jobs: { deliver, circuitBreaker: { failureThreshold: 1, resetBackoff } } },
		{ retry: RETRY },
	)
	await system.clock.advance(1_500)
	isDown = false
	await system.clock.advance(10_000)
	const changes = system.eventsOf('relay_state_change')
	expect(changes).toMatchObject([
		{ destination: 'jobs', from: 'closed', to: 'open', reason: 'circuit-open', pausedForMs: 2_000 },
		{ destination: 'jobs', from: 'open', to: 'half-open', reason: 'probe' },
		{ destination: 'jobs', from: 'half-open', to: 'closed', pausedForMs: 0 },
	])
	expect(changes.at(-1)).not.toHaveProperty('reason')
})

test('relay_paused and relay_resumed are emitted once per pause of an operator', async () => {
	await using system = await setup()
	await system.relay({ jobs: system.sends() }, { pollMs: 1_000 })
	await system.outbox.pause('jobs')
	await system.enqueue(1)
	await system.clock.advance(10_000)
	expect(await system.outbox.resume('jobs')).toBe(true)
	await system.clock.advance(10_000)
	expect(system.eventsOf('relay_paused')).toMatchObject([
		{ destination: 'jobs', pausedForMs: Infinity, reason: 'operator' },
	])
	const resumed = system.eventsOf('relay_resumed')
	expect(resumed).toMatchObject([{ destination: 'jobs', pausedForMs: 0 }])
	expect(resumed[0]).not.toHaveProperty('reason')
	expect(system.eventsOf('relay_sent')).toHaveLength(1)
})

test('relay_store_error has operation, error and delay, and relay_store_recovered follows once', async () => {
	await using system = await setup()
	await using process = new Process(system)
	await process.relay({ jobs: system.sends() })
	const error = Object.assign(new Error('no connection'), { name: 'DatabaseError' })
	process.fault = (method) => (method === 'claim' ? error : undefined)
	await system.enqueue(1)
	await system.clock.advance(3_000)
	process.fault = undefined
	await system.clock.advance(10_000)
	const errors = process.eventsOf('relay_store_error')
	expect(errors.length).toBeGreaterThan(1)
	const facts = { operation: 'claim', errorType: 'DatabaseError', errorMessage: 'no connection' }
	expect(errors).toMatchObject(errors.map(() => facts))
	expect(errors.filter(({ retryInMs }) => retryInMs < 0)).toEqual([])
	expect(process.eventsOf('relay_store_recovered')).toMatchObject([{ operation: 'claim' }])
	expect(system.sendings).toHaveLength(1)
})
