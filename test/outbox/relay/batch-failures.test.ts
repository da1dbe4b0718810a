/** Calls of batch handlers that fail as a whole, time out, lose leases, stop, or crash their process. */
import { describe, expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import type { Message } from 'yaoki/outbox'
import { batchDestination, OutboxLeaseLostError } from 'yaoki/outbox'
import { deadPayloads, recordBatches } from './batch-setup.ts'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 5 } as const
const OPTIONS = { retry: RETRY, rampUpMs: 0 } as const
const BREAKER = { resetBackoff: { initialMs: 10_000, factor: 1, jitterStrategy: 'none' } } as const

const rejectsIf =
	(isBad: (payload: number) => boolean, error: () => unknown) => async (all: readonly Message[]) => {
		if (all.some(({ payload }) => isBad(Number(payload)))) throw error()
		return undefined
	}

describe('a transient failure of a whole call', () => {
	test('retries every message by its own backoff', async () => {
		await using system = await setup()
		const [first = '', second = ''] = await system.enqueue(2)
		system.tx.prepare(`UPDATE yaoki_outbox SET attempts = 2 WHERE id = '${first}'`).all()
		const { destination, calls } = recordBatches()
		const deliver = destination(() => (calls.length === 1 ? Promise.reject(new Error('down')) : undefined))
		await system.relay({ jobs: deliver }, { ...OPTIONS, retry: { ...RETRY, factor: 2 } })
		await system.clock.advance(10_000)
		expect(calls).toEqual([[1, 2], [2], [1]])
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([
			{ messageId: first, attempts: 3, delayMs: 4_000 },
			{ messageId: second, attempts: 1, delayMs: 1_000 },
		])
		expect(system.eventsOf('relay_sent')).toHaveLength(2)
	})

	test('counts as one failure for the circuit', async () => {
		await using system = await setup()
		await system.enqueue(50)
		const { destination, sizes } = recordBatches()
		const deliver = destination(() => Promise.reject(new HttpError(503)), { circuitBreaker: BREAKER })
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(500)
		expect(sizes()).toEqual([50])
		expect(system.eventsOf('relay_state_change')).toEqual([])
		await system.clock.advance(120_000)
		expect(system.eventsOf('relay_state_change')[0]).toMatchObject({ to: 'open', reason: 'circuit-open' })
		expect(sizes().slice(0, 5)).toEqual([50, 50, 50, 50, 50])
	})

	test('has the weight of a call that succeeds (regression: half of the calls failed, and a failure rate of 2 % was counted)', async () => {
		await using system = await setup()
		const { destination, calls } = recordBatches()
		const deliver = destination(
			() => (calls.length % 2 === 0 ? Promise.reject(new HttpError(503)) : undefined),
			{
				circuitBreaker: { failureThreshold: Infinity, errorRateThreshold: 0.4, minimumRequests: 10 },
			},
		)
		await system.relay({ jobs: deliver }, { ...OPTIONS, retry: { ...RETRY, baseDelayMs: 60_000 } })
		for (let at = 0; at < 20; at++) {
			await system.enqueue(50)
			await system.clock.advance(500)
		}
		expect(system.eventsOf('relay_state_change')[0]).toMatchObject({ to: 'open', reason: 'circuit-open' })
	})

	test('with Retry-After pauses the destination', async () => {
		await using system = await setup()
		await system.enqueue(10)
		const { destination, sizes } = recordBatches()
		const error = new HttpError(429, undefined, { retryAfterMs: 30_000 })
		await system.relay({ jobs: destination(() => Promise.reject(error)) }, OPTIONS)
		await system.clock.advance(20_000)
		expect(sizes()).toEqual([10])
		expect(system.eventsOf('relay_paused')).toMatchObject([{ reason: 'retry-after' }])
	})

	test('is divided where a message would become a dead letter, because it may be the fault of another one', async () => {
		await using system = await setup()
		await system.enqueue(8)
		const { destination, sizes } = recordBatches()
		const deliver = destination(
			rejectsIf(
				(n) => n === 3,
				() => new HttpError(500),
			),
		)
		await system.relay({ jobs: deliver }, { ...OPTIONS, retry: { ...RETRY, maxRetries: 0 } })
		await system.clock.advance(1_000)
		expect(await deadPayloads(system)).toEqual([3])
		expect(system.eventsOf('relay_sent')).toHaveLength(7)
		expect(sizes().toSorted((a, b) => b - a)).toEqual([8, 4, 4, 2, 2, 1, 1])
	})

	test('leaves the last retry of a message to a call of its own', async () => {
		await using system = await setup()
		await system.enqueue(4)
		const { destination, calls } = recordBatches()
		const deliver = destination(() => Promise.reject(new Error('down')))
		const options = { retry: { ...RETRY, maxRetries: 2 }, circuitBreaker: false } as const
		await system.relay({ jobs: deliver }, options)
		await system.clock.advance(60_000)
		expect(calls.slice(0, 2)).toEqual([
			[1, 2, 3, 4],
			[1, 2, 3, 4],
		])
		expect(calls.slice(2)).toEqual([[1], [2], [3], [4]])
		expect(system.eventsOf('relay_dead_letter')).toHaveLength(4)
		for (const event of system.eventsOf('relay_dead_letter'))
			expect(event).toMatchObject({ cause: 'retries-exhausted', attempts: 3 })
	})
})

describe('a permanent failure of a whole call', () => {
	test('divides the batch until the bad message is alone, and costs the others no attempt', async () => {
		await using system = await setup()
		const ids = await system.enqueue(100)
		const { destination, sizes } = recordBatches()
		const deliver = destination(
			rejectsIf(
				(n) => n === 42,
				() => new HttpError(400),
			),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1)
		expect(sizes().length).toBeLessThanOrEqual(2 * 8)
		expect(system.eventsOf('relay_dead_letter')).toMatchObject([
			{ messageId: ids[41], cause: 'permanent', attempts: 1, statusCode: 400 },
		])
		expect(system.eventsOf('relay_sent').map(({ attempts }) => attempts)).toEqual(
			Array.from({ length: 99 }, () => 1),
		)
		expect(system.eventsOf('relay_state_change')).toEqual([])
	})

	test('finds several bad messages', async () => {
		await using system = await setup()
		await system.enqueue(64)
		const bad = new Set([1, 7, 8, 33, 64])
		const { destination } = recordBatches()
		const deliver = destination(
			rejectsIf(
				(n) => bad.has(n),
				() => permanent(new Error('no')),
			),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1_000)
		expect((await deadPayloads(system)).toSorted()).toEqual([...bad].toSorted())
		expect(system.eventsOf('relay_sent')).toHaveLength(59)
	})

	test('of every message opens the circuit at the fifth, and the others stay queued without an attempt', async () => {
		await using system = await setup()
		await system.enqueue(100)
		const { destination, sizes } = recordBatches()
		const deliver = destination(() => Promise.reject(new HttpError(404)), {
			circuitBreaker: BREAKER,
			maxConcurrent: 1,
		})
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1_000)
		expect(sizes().filter((size) => size === 1)).toHaveLength(5)
		expect(system.eventsOf('relay_state_change')).toMatchObject([
			{ to: 'open', reason: 'permanent-failures' },
		])
		const left = await system.outbox.list({ status: 'pending' }, { limit: 1_000 })
		expect(left).toHaveLength(96)
		expect(left.filter(({ attempts }) => attempts > 0)).toEqual([])
	})

	test.each([
		['a 401', new HttpError(401), 'credentials'],
		['an invalid certificate', Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }), 'certificate'],
	])('that is %s opens the circuit after one call, and costs no attempt', async (_, error, reason) => {
		await using system = await setup()
		await system.enqueue(30)
		const { destination, sizes } = recordBatches()
		const deliver = destination(() => Promise.reject(error), { circuitBreaker: BREAKER })
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1_000)
		expect(sizes()).toEqual([30])
		expect(system.eventsOf('relay_state_change')).toMatchObject([{ to: 'open', reason }])
		const left = await system.outbox.list({ status: 'pending' }, { limit: 1_000 })
		expect(left).toHaveLength(30)
		expect(left.filter(({ attempts }) => attempts > 0)).toEqual([])
	})

	test('is divided while the relay stops: nothing is lost and nothing is a dead letter', async () => {
		await using system = await setup()
		await system.enqueue(16)
		const { destination, sizes } = recordBatches()
		const deliver = destination(async () => {
			await system.pause(1_000)
			throw new HttpError(400)
		})
		const relay = await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(500)
		const stopped = relay.stop()
		await system.clock.advance(20_000)
		await stopped
		expect(sizes()).toEqual([16])
		const left = await system.outbox.list({}, { limit: 100 })
		expect(left.filter(({ status, attempts }) => status === 'pending' && attempts === 0)).toHaveLength(16)
	})
})

test('the half-open probe is a batch of one', async () => {
	await using system = await setup()
	await system.enqueue(40)
	const { destination, sizes } = recordBatches()
	const deliver = destination(
		() => (system.clock.now() < 20_000 ? Promise.reject(new HttpError(503)) : undefined),
		{ circuitBreaker: { ...BREAKER, failureThreshold: 1 } },
	)
	await system.relay({ jobs: deliver }, { ...OPTIONS, pollMs: 100 })
	await system.clock.advance(60_000)
	const [first, probe] = sizes()
	expect([first, probe]).toEqual([40, 1])
	expect(system.eventsOf('relay_sent')).toHaveLength(40)
})

test('a call that times out is aborted, retries its messages, and keeps its slot until it ends', async () => {
	await using system = await setup()
	await system.enqueue(4)
	const { destination, signals, sizes } = recordBatches()
	let end = () => {}
	const deliver = destination(
		async () => {
			if (signals.length === 1)
				await new Promise<void>((resolve) => {
					end = resolve
				})
			return undefined
		},
		{ timeoutMs: 5_000, maxConcurrent: 1, maxMessages: 2 },
	)
	await system.relay({ jobs: deliver }, OPTIONS)
	await system.clock.advance(4_999)
	expect(signals[0]?.aborted).toBe(false)
	await system.clock.advance(1)
	expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
	expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([
		{ errorType: 'TimeoutError', durationMs: 5_000 },
		{ errorType: 'TimeoutError', durationMs: 5_000 },
	])
	await system.clock.advance(60_000)
	expect(sizes()).toEqual([2])
	expect(system.eventsOf('relay_handlers_hung')).toMatchObject([{ destination: 'jobs', count: 1 }])
	end()
	await system.clock.advance(1_000)
	expect(sizes()).toEqual([2, 2, 2])
	expect(system.eventsOf('relay_sent')).toHaveLength(4)
})

describe('a lost lease', () => {
	const leases = { leaseMs: 3_000, timeoutMs: 600_000 }
	const steal = (system: Awaited<ReturnType<typeof setup>>, ids: readonly string[]) => {
		for (const id of ids)
			system.tx.prepare(`UPDATE yaoki_outbox SET locked_by = 'another' WHERE id = '${id}'`).all()
	}

	test('of one message ignores its fate, and the call goes on for the others', async () => {
		await using system = await setup()
		const [stolen = ''] = await system.enqueue(3)
		const { destination, signals } = recordBatches()
		const deliver = destination(async (messages) => {
			await system.pause(20_000)
			return messages.map(({ id }) => ({ id, error: id === stolen ? new HttpError(400) : undefined }))
		})
		await system.relay({ jobs: deliver }, leases)
		await system.clock.advance(100)
		steal(system, [stolen])
		await system.clock.advance(10_000)
		expect(system.eventsOf('relay_lease_lost')).toMatchObject([{ messageId: stolen }])
		expect(signals[0]?.aborted).toBe(false)
		await system.clock.advance(11_000)
		expect(system.eventsOf('relay_sent')).toHaveLength(2)
		expect(system.eventsOf('relay_dead_letter')).toEqual([])
	})

	test('of every message aborts the call', async () => {
		await using system = await setup()
		const ids = await system.enqueue(3)
		const { destination, signals } = recordBatches()
		await system.relay({ jobs: destination(() => new Promise(() => {})) }, leases)
		await system.clock.advance(100)
		steal(system, ids)
		await system.clock.advance(10_000)
		expect(system.eventsOf('relay_lease_lost')).toHaveLength(3)
		expect(signals[0]?.reason).toBeInstanceOf(OutboxLeaseLostError)
	})
})

test('a stop aborts a call that does not end, and returns its messages', async () => {
	await using system = await setup()
	await system.enqueue(5)
	const { destination, signals } = recordBatches()
	const deliver = destination(
		(_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
	)
	const relay = await system.relay({ jobs: deliver }, OPTIONS)
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 1_000 })
	await system.clock.advance(10_000)
	await stopped
	expect(signals[0]?.reason).toMatchObject({ name: 'RelayStoppedError' })
	const left = await system.outbox.list()
	expect(left.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'pending'))
	expect(system.eventsOf('relay_dead_letter')).toEqual([])
	expect(relay.stats).toMatchObject({ inFlight: 0 })
})

test('a stop abandons a call that ignores its signal, and no timer is left', async () => {
	await using system = await setup()
	await system.enqueue(5)
	const { destination } = recordBatches()
	const relay = await system.relay({ jobs: destination(() => new Promise(() => {})) }, OPTIONS)
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 1_000 })
	await system.clock.advance(10_000)
	await stopped
	const left = await system.outbox.list()
	expect(left.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'pending'))
	expect(system.clock.pendingTimers).toBe(0)
})

const isComplete = (done: ReadonlyMap<string, readonly number[]>): boolean =>
	done.size === 8 && [...done.values()].every(({ length }) => length >= 15)

test.each([1, 2, 3])(
	'keeps the order per key under random failures, with two relays (seed %i)',
	async (seed) => {
		await using system = await setup(seed)
		await using there = new Process(system)
		for (let n = 0; n < 120; n++) await system.enqueue(1, { key: `k${n % 8}` })
		const done = new Map<string, number[]>()
		const twice: unknown[] = []
		const under = new Set<string>()
		const deliver = batchDestination({
			order: true,
			maxMessages: 5,
			async deliver(messages: readonly Message<string, number>[]) {
				const keys = messages.map(({ key }) => String(key))
				twice.push(...keys.filter((key, index) => under.has(key) || keys.indexOf(key) !== index))
				for (const key of keys) under.add(key)
				await system.pause(20 + 200 * system.clock.random())
				for (const key of keys) under.delete(key)
				const fate = system.clock.random()
				if (fate < 0.15) throw new Error('the whole call')
				return messages.map(({ id, key, payload }) => {
					if (system.clock.random() < 0.3) return { id, error: new Error('flaky') }
					done.set(`${key}`, [...(done.get(`${key}`) ?? []), payload])
					return { id }
				})
			},
		})
		const retry = { ...RETRY, maxRetries: 50, maxDelayMs: 2_000 }
		const options = { retry, circuitBreaker: false, pollMs: 100 } as const
		await system.relay({ jobs: deliver }, options)
		await there.relay({ jobs: deliver }, options)
		for (let step = 0; step < 30 && !isComplete(done); step++) await system.clock.advance(10_000)
		expect(twice).toEqual([])
		expect(done.size).toBe(8)
		for (const sent of done.values()) {
			expect(sent).toHaveLength(15)
			expect(sent).toEqual(sent.toSorted((a, b) => a - b))
		}
	},
)

test('a batch of 50 with a message that crashes its process loses only this message', async () => {
	await using system = await setup()
	await system.enqueue(20)
	const [killer = ''] = await system.enqueue(1, { payload: 'killer' })
	await system.enqueue(29)
	const sizes: number[] = []
	const killed: number[] = []
	const sent = new Set<unknown>()
	for (let generation = 0; generation < 9; generation++) {
		const one = new Process(system)
		const deliver = batchDestination({
			async deliver(messages) {
				sizes.push(messages.length)
				await one.pause(50)
				if (messages.some(({ payload }) => payload === 'killer')) {
					killed.push(messages.length)
					one.kill()
				}
				await one.pause(50)
				for (const { payload } of messages) sent.add(payload)
			},
		})
		await one.relay({ jobs: deliver }, { leaseMs: 2_000, pollMs: 500 })
		await system.clock.advance(30_000)
		await one[Symbol.asyncDispose]()
	}
	expect(killed).toEqual([50, 50, 1, 1, 1, 1, 1])
	expect(sent.size).toBe(49)
	expect(await system.outbox.list()).toMatchObject([{ id: killer, status: 'dead', cause: 'crashed' }])
})

test.each([
	['throws', (error: unknown) => () => Promise.reject(error)],
	[
		'reports',
		(error: unknown) => (messages: readonly Message[]) => messages.map(({ id }) => ({ id, error })),
	],
])(
	'a handler that %s a revoked proxy fails its messages (regression: the rejection was unhandled and ended the process)',
	async (_, deliver) => {
		await using system = await setup()
		await system.enqueue(2)
		const { proxy, revoke } = Proxy.revocable({}, {})
		revoke()
		const { destination, calls } = recordBatches()
		const failing = deliver(proxy)
		const handler = destination((messages) => (calls.length === 1 ? failing(messages) : undefined), {
			attemptLog: true,
		})
		await system.relay({ jobs: handler }, OPTIONS)
		await system.clock.advance(10_000)
		expect(calls.flat().toSorted()).toEqual([1, 1, 2, 2])
		expect(system.eventsOf('relay_sent')).toHaveLength(2)
	},
)
