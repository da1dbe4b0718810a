/** Regressions found by listing the states of a message and everything that can happen between two steps of a relay. */
import { expect, test } from 'vitest'
import type { MessageHandler } from 'yaoki/outbox'
import { Delivery } from '../../../src/outbox/relay/delivery.ts'
import { DestinationStates } from '../../../src/outbox/relay/destination-state.ts'
import { readRelayOptions } from '../../../src/outbox/relay/options.ts'
import type { ClaimedRow } from '../../../src/outbox/store/rows.ts'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const delivery = (row: Partial<ClaimedRow>) =>
	new Delivery({ ...row, id: `id ${row.sequence}` } as ClaimedRow, Infinity, () => {})

test('aborts a delivery when its lease ends, before another relay can send the message (regression: up to 5 seconds later)', async () => {
	await using system = await setup()
	await using cutOff = new Process(system)
	await using there = new Process(system)
	const abortedAt: number[] = []
	const deliver: MessageHandler = (_, { signal }) =>
		new Promise((resolve) =>
			signal.addEventListener('abort', () => {
				abortedAt.push(system.clock.now())
				resolve(undefined)
			}),
		)
	await cutOff.relay({ jobs: deliver }, { leaseMs: 9_000, timeoutMs: 600_000 })
	await system.clock.advance(1_000)
	await system.enqueue(1)
	await cutOff.outbox.wake()
	await system.clock.advance(100)
	cutOff.fault = () => new Error('the cable is cut')
	await there.relay({ jobs: system.sends() })
	await system.clock.advance(12_000)
	expect(abortedAt).toHaveLength(1)
	expect(abortedAt[0]).toBeLessThanOrEqual(system.sendings[0]?.at ?? 0)
})

test('stop without patience releases what a claim in flight returns (regression: it stayed claimed, and counted a crash)', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(5)
	there.delay = (method) => (method === 'claim' ? 50 : 0)
	const relay = await there.relay({ jobs: system.sends() })
	// The first claim is for poison candidates.
	await system.clock.advance(70)
	const stopped = relay.stop({ timeoutMs: 0 })
	await system.clock.advance(3_000)
	await stopped
	const left = await system.outbox.list()
	expect(left.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(
		Array.from({ length: 5 }, () => 'pending 0'),
	)
})

test('a relay that stops while it probes lets another one probe (regression: not before the time of the probe ended)', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(3)
	let isDown = true
	const deliver: MessageHandler = async (_, { signal }) => {
		if (isDown) throw new Error('down')
		await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
	}
	const options = {
		circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 1_000 },
		rampUpMs: 0,
		retry: { baseDelayMs: 100, maxRetries: 20 },
	}
	const prober = await there.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await system.clock.advance(100)
	isDown = false
	await system.clock.advance(3_000)
	expect(there.eventsOf('relay_state_change').at(-1)).toMatchObject({ to: 'half-open' })
	const stopped = prober.stop({ timeoutMs: 0 })
	await system.clock.advance(2_000)
	await stopped
	await system.relay({ jobs: system.sends() }, options)
	await system.clock.advance(3_000)
	expect(system.sendings).toHaveLength(3)
})

test('a poison candidate whose lease ended before it could start is not sent (regression: it was sent beside another relay)', async () => {
	await using system = await setup()
	await using slow = new Process(system)
	await system.enqueue(1)
	system.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	slow.delay = (method) => (method === 'acquireTokens' ? 5_000 : 0)
	const rate = { limit: 10, intervalMs: 1_000 }
	await slow.relay({ jobs: { deliver: system.sends(), rate } }, { leaseMs: 2_000 })
	await system.clock.advance(100)
	await system.relay({ jobs: system.sends() }, { leaseMs: 2_000 })
	await system.clock.advance(20_000)
	expect(system.sendings).toHaveLength(1)
})

test('a wildcard keeps a destination while messages wait for an earlier one of their key (regression: they stayed claimed until their leases ended)', () => {
	const settings = readRelayOptions({})
	const states = new DestinationStates({ '*': { deliver: () => {}, order: true } }, settings)
	states.sync(['a'])
	const state = states.byName.get('a')
	const [first, second] = [1, 2].map((sequence) => delivery({ sequence, key: 'k' }))
	if (!state || !first || !second) throw new Error('no state')
	state.enqueue([first, second])
	// The first one has been sent and its outcome is being written; discovery finds another page of names.
	expect(state.queued.pop()).toBe(first)
	states.sync(['b'])
	expect([...states.byName.keys()]).toEqual(['a', 'b'])
	state.runs.recordFollower(first)
	expect(state.continueRun(first)).toBe(true)
	expect(state.queued.pop()).toBe(second)
	states.sync(['b'])
	expect([...states.byName.keys()]).toEqual(['b'])
})

test('a wildcard keeps a destination while a claim of it runs: the claim may return messages', () => {
	const states = new DestinationStates({ '*': () => {} }, readRelayOptions({}))
	states.sync(['a', 'b'])
	states.sync([], (name) => name === 'a')
	expect([...states.byName.keys()]).toEqual(['a'])
	states.sync([])
	expect([...states.byName.keys()]).toEqual([])
})
