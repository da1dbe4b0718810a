import { expect, test } from 'vitest'
import type { MessageHandler } from 'yaoki/outbox'
import { Process } from './process.ts'
import { setup } from './setup.ts'

test('stop waits for messages in flight, writes their results and releases the rest without an attempt', async () => {
	await using system = await setup()
	await system.enqueue(20)
	const relay = await system.relay({
		jobs: { deliver: system.sends(() => system.pause(1_000)), maxConcurrent: 4 },
	})
	await system.clock.advance(100)
	const stopped = relay.stop()
	await system.clock.advance(1_000)
	await stopped
	expect(system.sendings).toHaveLength(4)
	const left = await system.outbox.list()
	expect(left.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(
		Array.from({ length: 16 }, () => 'pending 0'),
	)
	expect(system.eventsOf('relay_released').map(({ reason }) => reason)).toContain('stopping')
	expect(await system.store.relays()).toEqual([])
	expect(system.clock.pendingTimers).toBe(0)
})

test('handlers beyond timeoutMs are aborted; that counts as an attempt but not as a failure of the destination', async () => {
	// Regression: aborted handlers counted as failures, so a deployment opened the circuit for all relays.
	await using system = await setup()
	await system.enqueue(16)
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
	const relay = await system.relay({ jobs: { deliver, circuitBreaker: { failureThreshold: 2 } } })
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 500 })
	await system.clock.advance(600)
	await stopped
	const left = await system.outbox.list()
	expect(new Set(left.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(new Set(['pending 1']))
	expect(system.eventsOf('relay_state_change')).toEqual([])
	const errors = system
		.eventsOf('relay_retry_scheduled')
		.map(({ errorType, errorCode }) => `${errorType} ${errorCode}`)
	expect(new Set(errors)).toEqual(new Set(['RelayStoppedError YAOKI_RELAY_STOPPED']))
})

test('a handler that fails with its own error after the abort counts as failed', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('torn paper'))))
	const relay = await system.relay({ jobs: deliver })
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 500 })
	await system.clock.advance(600)
	await stopped
	expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorMessage: 'torn paper' }])
})

test('a handler that ignores its signal is abandoned, and its message gets no crash', async () => {
	// Regression: it stayed claimed, and the next relay counted a crash; three deployments made it a dead letter.
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const options = { leaseMs: 5_000 }
	for (let deployment = 0; deployment < 4; deployment++) {
		const relay = await system.relay({ jobs: system.sends(() => new Promise(() => {})) }, options)
		await system.clock.advance(100)
		const stopped = relay.stop({ timeoutMs: 100 })
		await system.clock.advance(1_200)
		await stopped
		await system.clock.advance(5_000)
	}
	expect(system.sendings).toHaveLength(4)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'pending', crashes: 0, attempts: 4 })
})

test.for([
	['without order', false, 'k'],
	['without a key', true, undefined],
] as const)(
	'an abandoned message %s is sent by the next relay without waiting for its lease',
	async ([, order, key]) => {
		await using system = await setup()
		await system.enqueue(2, key === undefined ? {} : { key })
		const deliver = () => new Promise(() => {})
		const relay = await system.relay({ jobs: { deliver, order } }, { leaseMs: 60_000 })
		await system.clock.advance(100)
		const stopped = relay.stop()
		await system.clock.advance(8_000)
		await stopped
		await system.relay({ jobs: { deliver: system.sends(), order } })
		await system.clock.advance(2_000)
		expect(system.sendings).toHaveLength(2)
	},
)

test('an abandoned message in order of its key keeps the rest of its lease, because its handler may still send it', async () => {
	await using system = await setup()
	await system.enqueue(2, { key: 'k' })
	const deliver = () => new Promise(() => {})
	const relay = await system.relay({ jobs: { deliver, order: true } }, { leaseMs: 30_000 })
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 100 })
	await system.clock.advance(1_200)
	await stopped
	await system.relay({ jobs: { deliver: system.sends(), order: true } })
	await system.clock.advance(20_000)
	expect(system.sendings).toEqual([])
	await system.clock.advance(12_000)
	expect(system.sendings).toHaveLength(2)
})

test('a second stop returns the same promise; stop of a relay that was not started resolves', async () => {
	await using system = await setup()
	await using there = new Process(system)
	const relay = there.make({ jobs: system.sends() })
	await relay.stop()
	await relay.start()
	const stopped = relay.stop()
	expect(relay.stop()).toBe(stopped)
	await system.clock.advance(10)
	await stopped
	expect(there.events.map(({ type }) => type)).toEqual(['relay_started', 'relay_stopping', 'relay_stopped'])
})

test('start rejects while running and works again after stop', async () => {
	await using system = await setup()
	const relay = await system.relay({ jobs: system.sends() })
	const code = 'YAOKI_RELAY_RUNNING'
	const running = { code, message: 'The relay is already running. Call stop() before start().' }
	await expect(relay.start()).rejects.toMatchObject(running)
	const stopped = relay.stop()
	const stopping = { code, message: 'The relay is stopping. Await stop() before start().' }
	await expect(relay.start()).rejects.toMatchObject(stopping)
	await system.clock.advance(10)
	await stopped
	await system.enqueue(1)
	await system.clock.advance(2_000)
	expect(system.sendings).toEqual([])
	await relay.start()
	await system.clock.advance(100)
	expect(system.sendings).toHaveLength(1)
})

test('stop during start leaves nothing behind', async () => {
	// Regression: the start continued after the stop had cleaned up.
	await using system = await setup()
	await using there = new Process(system)
	const relay = there.make({ jobs: system.sends() })
	const started = relay.start()
	const stopped = relay.stop()
	await system.clock.advance(100)
	await Promise.all([started, stopped])
	expect(there.events.map(({ type }) => type)).toEqual(['relay_started', 'relay_stopping', 'relay_stopped'])
	expect(system.clock.pendingTimers).toBe(0)
	expect(await system.store.relays()).toEqual([])
	await there.outbox.enqueue({ topic: 'jobs', payload: 1 })
	await system.clock.advance(5_000)
	expect(system.sendings).toEqual([])
})

test('stop ends in bounded time while the database is unavailable', async () => {
	await using system = await setup()
	const there = new Process(system)
	await system.enqueue(5)
	const relay = await there.relay({ jobs: { deliver: () => system.pause(1_000), maxConcurrent: 2 } })
	await system.clock.advance(100)
	there.fault = () => new Error('away')
	let isStopped = false
	const stopped = relay.stop({ timeoutMs: 4_000 }).then(() => {
		isStopped = true
	})
	await system.clock.advance(6_100)
	expect(isStopped).toBe(true)
	await stopped
})

test('a heartbeat in flight does not register a stopped relay again', async () => {
	await using system = await setup()
	await using there = new Process(system)
	const relay = await there.relay(
		{ jobs: { deliver: system.sends(), maxConcurrentAllRelays: 2 } },
		{ leaseMs: 300 },
	)
	for (let n = 0; n < 30; n++) {
		await system.clock.advance(99 + (n % 3))
		const stopped = relay.stop()
		await system.clock.advance(50)
		await stopped
		expect(await system.store.relays()).toEqual([])
		await relay.start()
	}
})

test('rejects an invalid timeoutMs', async () => {
	await using system = await setup()
	const relay = await system.relay({ jobs: system.sends() })
	expect(() => relay.stop({ timeoutMs: Number.NaN })).toThrow(
		/Invalid option "timeoutMs": expected .*, got NaN/,
	)
})

test('closing the outbox stops its relays first (regression: they retried a closed database forever)', async () => {
	const system = await setup()
	const ids = await system.enqueue(3)
	await system.relay({ jobs: system.sends(() => system.pause(1_000)) })
	await system.clock.advance(100)
	const closed = system.outbox.close()
	await system.clock.advance(2_000)
	await closed
	expect(system.eventsOf('relay_sent').map(({ messageId }) => messageId)).toEqual(ids)
	expect(system.eventsOf('relay_store_error')).toEqual([])
	expect(system.eventsOf('relay_stopped')).toHaveLength(1)
	expect(system.clock.pendingTimers).toBe(0)
})

test.for(['a handler that ignores its signal', 'a database that does not respond', 'a start that hangs'])(
	'stop takes at most 8 s by default with %s',
	async (name) => {
		// Regression: it took more than 30 s, and Docker kills a container after 10.
		await using system = await setup()
		const there = new Process(system)
		await system.enqueue(20)
		const relay = there.make({ jobs: { deliver: () => new Promise(() => {}), maxConcurrent: 2 } })
		if (name === 'a start that hangs') there.delay = () => 1_000_000
		const started = relay.start().catch((error: unknown) => error)
		await system.clock.advance(500)
		if (name === 'a database that does not respond') there.delay = () => 1_000_000
		const since = system.clock.now()
		let tookMs = Infinity
		const stopped = relay.stop().then(() => {
			tookMs = system.clock.now() - since
		})
		await system.clock.advance(60_000)
		await Promise.all([started, stopped])
		expect(tookMs).toBeLessThanOrEqual(8_000)
		there.kill()
	},
)

test('a message whose handler obeys its signal is sent by the next relay without waiting for its lease', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const hangs: MessageHandler = (_, { signal }) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
	const relay = await system.relay({ jobs: hangs })
	await system.clock.advance(100)
	const stopped = relay.stop()
	await system.clock.advance(8_000)
	await stopped
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(2_000)
	expect(system.sendings).toHaveLength(1)
})

test('start rejects after 30 s if the database does not respond, and leaves nothing behind', async () => {
	await using system = await setup()
	const there = new Process(system)
	there.delay = () => 40_000
	const relay = there.make({ jobs: system.sends() })
	const since = system.clock.now()
	const started = relay.start().then(
		() => 'started',
		(error: unknown) => [error, system.clock.now() - since],
	)
	await system.clock.advance(60_000)
	expect(await started).toMatchObject([{ name: 'TimeoutError', timeoutMs: 30_000 }, expect.any(Number)])
	there.delay = undefined
	await system.clock.advance(200_000)
	expect(system.clock.pendingTimers).toBe(0)
	expect(await system.store.relays()).toEqual([])
	await relay.start()
	const stopped = relay.stop()
	await system.clock.advance(1_000)
	await stopped
})
