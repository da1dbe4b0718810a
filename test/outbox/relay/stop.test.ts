import { expect, test } from 'vitest'
import type { MessageHandler } from 'yaoki/outbox'
import { Process } from './process.ts'
import { world } from './world.ts'

test('stop waits for messages in flight, writes their results and releases the rest without an attempt', async () => {
	await using here = await world()
	await here.enqueue(20)
	const relay = await here.relay({ jobs: { deliver: here.sends(() => here.pause(1_000)), maxConcurrent: 4 } })
	await here.clock.advance(100)
	const stopped = relay.stop()
	await here.clock.advance(1_000)
	await stopped
	expect(here.sendings).toHaveLength(4)
	const left = await here.outbox.list()
	expect(left.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(
		Array.from({ length: 16 }, () => 'pending 0'),
	)
	expect(here.eventsOf('relay_released').map(({ reason }) => reason)).toContain('stopping')
	expect(await here.store.relays()).toEqual([])
	expect(here.clock.pendingTimers).toBe(0)
})

test('handlers beyond timeoutMs are aborted; that counts as an attempt but not as a failure of the destination', async () => {
	// Regression: aborted handlers counted as failures, so a deployment opened the circuit for all relays.
	await using here = await world()
	await here.enqueue(16)
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
	const relay = await here.relay({ jobs: { deliver, circuitBreaker: { failureThreshold: 2 } } })
	await here.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 500 })
	await here.clock.advance(600)
	await stopped
	const left = await here.outbox.list()
	expect(new Set(left.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(new Set(['pending 1']))
	expect(here.eventsOf('relay_state_change')).toEqual([])
	const errors = here
		.eventsOf('relay_retry_scheduled')
		.map(({ errorType, errorCode }) => `${errorType} ${errorCode}`)
	expect(new Set(errors)).toEqual(new Set(['RelayStoppedError YAOKI_RELAY_STOPPED']))
})

test('a handler that fails with its own error after the abort counts as failed', async () => {
	await using here = await world()
	await here.enqueue(1)
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('torn paper'))))
	const relay = await here.relay({ jobs: deliver })
	await here.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 500 })
	await here.clock.advance(600)
	await stopped
	expect(here.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorMessage: 'torn paper' }])
})

test('a handler that ignores its signal is abandoned, and its message gets no crash', async () => {
	// Regression: it stayed claimed, and the next relay counted a crash; three deployments made it a dead letter.
	await using here = await world()
	const [id = ''] = await here.enqueue(1)
	const options = { leaseMs: 5_000 }
	for (let deployment = 0; deployment < 4; deployment++) {
		const relay = await here.relay({ jobs: here.sends(() => new Promise(() => {})) }, options)
		await here.clock.advance(100)
		const stopped = relay.stop({ timeoutMs: 100 })
		await here.clock.advance(1_200)
		await stopped
		await here.clock.advance(5_000)
	}
	expect(here.sendings).toHaveLength(4)
	expect(await here.outbox.find(id)).toMatchObject({ status: 'pending', crashes: 0, attempts: 4 })
})

test.for([
	['without order', false, 'k'],
	['without a key', true, undefined],
] as const)(
	'an abandoned message %s is sent by the next relay without waiting for its lease',
	async ([, order, key]) => {
		await using here = await world()
		await here.enqueue(2, key === undefined ? {} : { key })
		const deliver = () => new Promise(() => {})
		const relay = await here.relay({ jobs: { deliver, order } }, { leaseMs: 60_000 })
		await here.clock.advance(100)
		const stopped = relay.stop()
		await here.clock.advance(8_000)
		await stopped
		await here.relay({ jobs: { deliver: here.sends(), order } })
		await here.clock.advance(2_000)
		expect(here.sendings).toHaveLength(2)
	},
)

test('an abandoned message in order of its key keeps the rest of its lease, because its handler may still send it', async () => {
	await using here = await world()
	await here.enqueue(2, { key: 'k' })
	const deliver = () => new Promise(() => {})
	const relay = await here.relay({ jobs: { deliver, order: true } }, { leaseMs: 30_000 })
	await here.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 100 })
	await here.clock.advance(1_200)
	await stopped
	await here.relay({ jobs: { deliver: here.sends(), order: true } })
	await here.clock.advance(20_000)
	expect(here.sendings).toEqual([])
	await here.clock.advance(12_000)
	expect(here.sendings).toHaveLength(2)
})

test('a second stop returns the same promise; stop of a relay that was not started resolves', async () => {
	await using here = await world()
	await using there = new Process(here)
	const relay = there.make({ jobs: here.sends() })
	await relay.stop()
	await relay.start()
	const stopped = relay.stop()
	expect(relay.stop()).toBe(stopped)
	await here.clock.advance(10)
	await stopped
	expect(there.events.map(({ type }) => type)).toEqual(['relay_started', 'relay_stopping', 'relay_stopped'])
})

test('start rejects while running and works again after stop', async () => {
	await using here = await world()
	const relay = await here.relay({ jobs: here.sends() })
	const code = 'YAOKI_RELAY_RUNNING'
	const running = { code, message: 'The relay is already running. Call stop() before start().' }
	await expect(relay.start()).rejects.toMatchObject(running)
	const stopped = relay.stop()
	const stopping = { code, message: 'The relay is stopping. Await stop() before start().' }
	await expect(relay.start()).rejects.toMatchObject(stopping)
	await here.clock.advance(10)
	await stopped
	await here.enqueue(1)
	await here.clock.advance(2_000)
	expect(here.sendings).toEqual([])
	await relay.start()
	await here.clock.advance(100)
	expect(here.sendings).toHaveLength(1)
})

test('stop during start leaves nothing behind', async () => {
	// Regression: the start continued after the stop had cleaned up.
	await using here = await world()
	await using there = new Process(here)
	const relay = there.make({ jobs: here.sends() })
	const started = relay.start()
	const stopped = relay.stop()
	await here.clock.advance(100)
	await Promise.all([started, stopped])
	expect(there.events.map(({ type }) => type)).toEqual(['relay_started', 'relay_stopping', 'relay_stopped'])
	expect(here.clock.pendingTimers).toBe(0)
	expect(await here.store.relays()).toEqual([])
	await there.outbox.enqueue({ topic: 'jobs', payload: 1 })
	await here.clock.advance(5_000)
	expect(here.sendings).toEqual([])
})

test('stop ends in bounded time while the database is unavailable', async () => {
	await using here = await world()
	const there = new Process(here)
	await here.enqueue(5)
	const relay = await there.relay({ jobs: { deliver: () => here.pause(1_000), maxConcurrent: 2 } })
	await here.clock.advance(100)
	there.fault = () => new Error('away')
	let isStopped = false
	const stopped = relay.stop({ timeoutMs: 4_000 }).then(() => {
		isStopped = true
	})
	await here.clock.advance(6_100)
	expect(isStopped).toBe(true)
	await stopped
})

test('a heartbeat in flight does not register a stopped relay again', async () => {
	await using here = await world()
	await using there = new Process(here)
	const relay = await there.relay(
		{ jobs: { deliver: here.sends(), maxConcurrentAllRelays: 2 } },
		{ leaseMs: 300 },
	)
	for (let n = 0; n < 30; n++) {
		await here.clock.advance(99 + (n % 3))
		const stopped = relay.stop()
		await here.clock.advance(50)
		await stopped
		expect(await here.store.relays()).toEqual([])
		await relay.start()
	}
})

test('rejects an invalid timeoutMs', async () => {
	await using here = await world()
	const relay = await here.relay({ jobs: here.sends() })
	expect(() => relay.stop({ timeoutMs: Number.NaN })).toThrow(
		/Invalid option "timeoutMs": expected .*, got NaN/,
	)
})

test('closing the outbox stops its relays first (regression: they retried a closed database forever)', async () => {
	const here = await world()
	const ids = await here.enqueue(3)
	await here.relay({ jobs: here.sends(() => here.pause(1_000)) })
	await here.clock.advance(100)
	const closed = here.outbox.close()
	await here.clock.advance(2_000)
	await closed
	expect(here.eventsOf('relay_sent').map(({ messageId }) => messageId)).toEqual(ids)
	expect(here.eventsOf('relay_store_error')).toEqual([])
	expect(here.eventsOf('relay_stopped')).toHaveLength(1)
	expect(here.clock.pendingTimers).toBe(0)
})

test.for(['a handler that ignores its signal', 'a database that does not respond', 'a start that hangs'])(
	'stop takes at most 8 s by default with %s',
	async (name) => {
		// Regression: it took more than 30 s, and Docker kills a container after 10.
		await using here = await world()
		const there = new Process(here)
		await here.enqueue(20)
		const relay = there.make({ jobs: { deliver: () => new Promise(() => {}), maxConcurrent: 2 } })
		if (name === 'a start that hangs') there.delay = () => 1_000_000
		const started = relay.start().catch((error: unknown) => error)
		await here.clock.advance(500)
		if (name === 'a database that does not respond') there.delay = () => 1_000_000
		const since = here.clock.now()
		let tookMs = Infinity
		const stopped = relay.stop().then(() => {
			tookMs = here.clock.now() - since
		})
		await here.clock.advance(60_000)
		await Promise.all([started, stopped])
		expect(tookMs).toBeLessThanOrEqual(8_000)
		there.kill()
	},
)

test('a message whose handler obeys its signal is sent by the next relay without waiting for its lease', async () => {
	await using here = await world()
	await here.enqueue(1)
	const hangs: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
	const relay = await here.relay({ jobs: hangs })
	await here.clock.advance(100)
	const stopped = relay.stop()
	await here.clock.advance(8_000)
	await stopped
	await here.relay({ jobs: here.sends() })
	await here.clock.advance(2_000)
	expect(here.sendings).toHaveLength(1)
})

test('start rejects after 30 s if the database does not respond, and leaves nothing behind', async () => {
	await using here = await world()
	const there = new Process(here)
	there.delay = () => 40_000
	const relay = there.make({ jobs: here.sends() })
	const since = here.clock.now()
	const started = relay.start().then(
		() => 'started',
		(error: unknown) => [error, here.clock.now() - since],
	)
	await here.clock.advance(60_000)
	expect(await started).toMatchObject([{ name: 'TimeoutError', timeoutMs: 30_000 }, expect.any(Number)])
	there.delay = undefined
	await here.clock.advance(200_000)
	expect(here.clock.pendingTimers).toBe(0)
	expect(await here.store.relays()).toEqual([])
	await relay.start()
	const stopped = relay.stop()
	await here.clock.advance(1_000)
	await stopped
})
