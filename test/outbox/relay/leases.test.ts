import { expect, test } from 'vitest'
import type { MessageHandler } from 'yaoki/outbox'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const OPTIONS = { leaseMs: 3_000, timeoutMs: 600_000 }

test('a handler that runs longer than many leases keeps its message', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(3)
	const deliver = system.sends(() => system.pause(60_000))
	await system.relay({ jobs: { deliver, maxConcurrent: 1 } }, OPTIONS)
	await system.clock.advance(100)
	await there.relay({ jobs: { deliver, maxConcurrent: 1 } }, OPTIONS)
	await system.clock.advance(190_000)
	expect(system.payloads().map(Number).toSorted()).toEqual([1, 2, 3])
	expect(system.eventsOf('relay_lease_lost')).toEqual([])
	expect(await system.outbox.list()).toEqual([])
})

test('a frozen relay loses its messages to another one, and its late ack is ignored', async () => {
	await using system = await setup()
	await using sleeper = new Process(system)
	await system.enqueue(4)
	const reasons: unknown[] = []
	const slow: MessageHandler = async (message, { signal }) => {
		await system.sends(() => sleeper.pause(5_000))(message)
		reasons.push(signal.reason?.name)
	}
	await sleeper.relay({ jobs: { deliver: slow, maxConcurrent: 2 } }, OPTIONS)
	await system.clock.advance(100)
	expect(system.sendings).toHaveLength(2)
	sleeper.freeze()
	await system.clock.advance(1_000)
	await system.relay({ jobs: system.sends(() => system.pause(20_000)) }, OPTIONS)
	await system.clock.advance(9_000)
	expect(system.sendings).toHaveLength(6)
	sleeper.thaw()
	await system.clock.advance(5_000)
	expect(sleeper.eventsOf('relay_lease_lost')).toHaveLength(4)
	expect(sleeper.eventsOf('relay_sent')).toEqual([])
	// The other relay is still sending it and holds the lease.
	const states = (await system.outbox.list()).map(({ status, attempts }) => `${status} ${attempts}`)
	expect(states).toEqual(Array.from({ length: 4 }, () => 'processing 2'))
	await system.clock.advance(20_000)
	expect(system.eventsOf('relay_sent')).toHaveLength(4)
	expect(await system.outbox.list()).toEqual([])
})

test('aborts the signal of a message whose lease is lost', async () => {
	await using system = await setup()
	await using cutOff = new Process(system)
	await system.enqueue(1)
	const reasons: unknown[] = []
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((resolve) =>
			signal.addEventListener('abort', () => {
				reasons.push(signal.reason)
				resolve(undefined)
			}),
		)
	await cutOff.relay({ jobs: deliver }, OPTIONS)
	await system.clock.advance(100)
	cutOff.fault = () => new Error('the cable is cut')
	await system.clock.advance(4_500)
	expect(reasons).toMatchObject([{ name: 'OutboxLeaseLostError', code: 'YAOKI_OUTBOX_LEASE_LOST' }])
	expect(cutOff.eventsOf('relay_lease_lost')).toHaveLength(1)
})

test('a hung database does not prevent leases from expiring in time', async () => {
	// Regression: the heartbeat awaited the database before it checked the clock.
	await using system = await setup()
	const deaf = new Process(system)
	await system.enqueue(1)
	let isAborted = false
	const deliver: MessageHandler = (_, { signal }) => {
		signal.addEventListener('abort', () => {
			isAborted = true
		})
		return new Promise(() => {})
	}
	const relay = deaf.make({ jobs: deliver }, OPTIONS)
	const { store } = deaf.outbox
	const renew = store.renew.bind(store)
	let isDeaf = false
	Object.defineProperty(deaf.outbox, 'store', {
		value: new Proxy(store, {
			get: (target, name) =>
				name === 'renew'
					? (...given: Parameters<typeof renew>) => (isDeaf ? new Promise(() => {}) : renew(...given))
					: Reflect.get(target, name),
		}),
	})
	await relay.start()
	await system.clock.advance(100)
	isDeaf = true
	await system.clock.advance(5_000)
	expect(isAborted).toBe(true)
	deaf.kill()
})

test('does not start a queued message whose lease has expired', async () => {
	await using system = await setup()
	await using sleeper = new Process(system)
	await system.enqueue(6)
	const deliver = system.sends(() => sleeper.pause(500))
	await sleeper.relay({ jobs: { deliver, maxConcurrent: 1 } }, { ...OPTIONS, leaseMs: 2_000 })
	await system.clock.advance(100)
	sleeper.freeze()
	await system.clock.advance(60_000)
	// Another, slow relay claims all of them.
	await system.relay(
		{ jobs: system.sends(() => system.pause(30_000)) },
		{ leaseMs: 60_000, timeoutMs: 600_000 },
	)
	await system.clock.advance(1_000)
	const before = system.sendings.length
	sleeper.thaw()
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(before)
})

test('after its host has slept, a relay starts no message whose lease has ended in the database', async () => {
	// Regression: the monotonic clock stands still meanwhile. 8 of 16 messages were sent after a later message of their key.
	await using system = await setup()
	await using sleeper = new Process(system)
	const sent: [string, unknown][] = []
	const by = (name: string) => (message: { payload: unknown }) => void sent.push([name, message.payload])
	for (let n = 0; n < 16; n++) await system.enqueue(1, { key: `k${n}` })
	const slow = {
		deliver: (message: { payload: unknown }) => sleeper.pause(1_000).then(() => by('sleeper')(message)),
	}
	await sleeper.relay({ jobs: { ...slow, maxConcurrent: 1, order: true } }, OPTIONS)
	await system.clock.advance(500)
	sleeper.sleep()
	for (let n = 0; n < 16; n++) await system.enqueue(1, { key: `k${n}` })
	await system.relay({ jobs: { deliver: by('other'), order: true } }, OPTIONS)
	await system.clock.advance(60_000)
	expect(sent.filter(([name]) => name === 'other')).toHaveLength(32)
	sleeper.wake()
	await system.clock.advance(60_000)
	// Only the message that was in flight.
	expect(sent.filter(([name]) => name === 'sleeper')).toHaveLength(1)
	expect(await system.outbox.list()).toEqual([])
})

test('after a short sleep a relay renews its leases and sends the messages that it still holds', async () => {
	await using system = await setup()
	await using sleeper = new Process(system)
	await system.enqueue(4)
	const deliver = system.sends(() => sleeper.pause(100))
	await sleeper.relay({ jobs: { deliver, maxConcurrent: 1 } }, { ...OPTIONS, leaseMs: 30_000 })
	await system.clock.advance(50)
	sleeper.sleep()
	await system.clock.advance(5_000)
	const renewals = sleeper.calls.filter((name) => name === 'renew').length
	sleeper.wake()
	await system.clock.advance(2_000)
	expect(sleeper.calls.filter((name) => name === 'renew').length).toBeGreaterThan(renewals)
	expect(system.payloads()).toEqual([1, 2, 3, 4])
	expect(sleeper.eventsOf('relay_lease_lost')).toEqual([])
	expect(sleeper.eventsOf('relay_sent')).toHaveLength(4)
})
