/** What a batch destination gets, and what its reports mean. */
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { HttpError } from 'yaoki'
import { batchDestination, type Message, Outbox, Relay } from 'yaoki/outbox'
import * as z from 'zod'
import type { BatchDestinationOptions } from '../../../src/outbox/destinations/batch-destination.ts'
import { fakeStore } from '../fake-store.ts'
import { deadPayloads, recordBatches } from './batch-setup.ts'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 5 } as const
const OPTIONS = { retry: RETRY, rampUpMs: 0 } as const

afterEach(() => vi.restoreAllMocks())

describe('the size of a batch', () => {
	test('is what is queued, up to 100 messages', async () => {
		await using system = await setup()
		await system.enqueue(250)
		const { destination, calls, sizes } = recordBatches()
		await system.relay({ jobs: destination() })
		await system.clock.advance(100)
		expect(sizes()).toEqual([100, 100, 50])
		expect(calls.flat()).toEqual(Array.from({ length: 250 }, (_, n) => n + 1))
		expect(system.eventsOf('relay_sent')).toHaveLength(250)
		expect(await system.outbox.list()).toEqual([])
	})

	test('is limited by maxMessages', async () => {
		await using system = await setup()
		await system.enqueue(7)
		const { destination, sizes } = recordBatches()
		await system.relay({ jobs: destination(undefined, { maxMessages: 3 }) })
		await system.clock.advance(100)
		expect(sizes()).toEqual([3, 3, 1])
	})

	test('is limited by maxBytes of UTF-8, and a larger message is sent alone', async () => {
		await using system = await setup()
		// 8, 8, 32, 8 and 8 bytes with the quotes of JSON.
		for (const payload of ['ééé', 'aaaaaa', 'x'.repeat(30), 'bbbbbb', 'cccccc'])
			await system.enqueue(1, { payload })
		const { destination, sizes } = recordBatches()
		await system.relay({ jobs: destination(undefined, { maxBytes: 16 }) })
		await system.clock.advance(100)
		expect(sizes()).toEqual([2, 1, 2])
	})

	test('does not wait for more messages', async () => {
		await using system = await setup()
		const { destination, sizes } = recordBatches()
		await system.relay({ jobs: destination() })
		await system.enqueue(1)
		await system.clock.advance(1)
		expect(sizes()).toEqual([1])
	})
})

test('a call occupies one slot of maxConcurrent and of maxConcurrentTotal', async () => {
	await using system = await setup()
	await system.enqueue(100)
	const { destination, sizes } = recordBatches()
	const slow = destination(
		async () => {
			await system.pause(1_000)
			return undefined
		},
		{ maxMessages: 10, maxConcurrent: 3 },
	)
	const relay = await system.relay({ jobs: slow }, { maxConcurrentTotal: 2 })
	await system.clock.advance(500)
	expect(sizes()).toEqual([10, 10])
	expect(relay.stats).toMatchObject({ inFlight: 20 })
	await system.clock.advance(5_000)
	expect(relay.stats).toMatchObject({ inFlight: 0, sent: 100 })
})

test('maxConcurrentAllRelays counts messages', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(200)
	const here = recordBatches()
	const other = recordBatches()
	let most = 0
	let under = 0
	const work = async (messages: readonly Message[]) => {
		under += messages.length
		most = Math.max(most, under)
		await system.pause(100)
		under -= messages.length
		return undefined
	}
	const limits = { maxConcurrentAllRelays: 12 }
	await system.relay({ jobs: here.destination(work, limits) })
	await there.relay({ jobs: other.destination(work, limits) })
	await system.clock.advance(60_000)
	expect(most).toBeLessThanOrEqual(12)
	expect(most).toBeGreaterThan(1)
	expect(here.calls.flat().length + other.calls.flat().length).toBe(200)
	expect(await system.outbox.list()).toEqual([])
})

test('rate counts messages', async () => {
	await using system = await setup()
	await system.enqueue(100)
	const { destination, calls } = recordBatches()
	await system.relay({ jobs: destination(undefined, { rate: { limit: 10, intervalMs: 1_000 } }) })
	await system.clock.advance(3_000)
	expect(calls.flat().length).toBeGreaterThanOrEqual(20)
	expect(calls.flat().length).toBeLessThanOrEqual(40)
	await system.clock.advance(10_000)
	expect(calls.flat()).toHaveLength(100)
})

test('a slot per batch claims slots times maxMessages', async () => {
	await using system = await setup()
	await system.enqueue(1_000)
	const { destination, sizes } = recordBatches()
	const hangs = destination(() => new Promise(() => {}), { maxMessages: 50, maxConcurrent: 4 })
	await system.relay({ jobs: hangs })
	await system.clock.advance(50)
	expect(sizes()).toEqual([50, 50, 50, 50])
})

describe('a report', () => {
	test('of an error retries or buries its message, and not the others', async () => {
		await using system = await setup()
		await system.enqueue(5)
		const { destination, calls } = recordBatches()
		const deliver = destination((messages) =>
			messages.map(({ id, payload, attempts }) => {
				if (payload === 2 && attempts === 1) return { id, error: new Error('busy') }
				return payload === 4 ? { id, error: new HttpError(422) } : { id, error: undefined }
			}),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(10_000)
		expect(calls).toEqual([[1, 2, 3, 4, 5], [2]])
		expect(await deadPayloads(system)).toEqual([4])
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorMessage: 'busy', delayMs: 1_000 }])
		expect(system.eventsOf('relay_dead_letter')).toMatchObject([{ cause: 'permanent', statusCode: 422 }])
		expect(system.eventsOf('relay_sent')).toHaveLength(4)
	})

	test('without errors, or with null, means that the messages were sent', async () => {
		await using system = await setup()
		await system.enqueue(4)
		const { destination, calls } = recordBatches()
		await system.relay({
			jobs: destination((messages) =>
				messages.map(({ id, payload }) => (payload === 1 ? { id } : { id, error: null })),
			),
		})
		await system.clock.advance(60_000)
		expect(calls).toHaveLength(1)
		expect(system.eventsOf('relay_sent')).toHaveLength(4)
	})

	test.each([
		['first', (id: string) => [{ id, error: new Error('no') }, { id }]],
		['last', (id: string) => [{ id }, { id, error: new Error('no') }]],
	])('with a message twice counts as its error, which comes %s', async (_, twice) => {
		await using system = await setup()
		await system.enqueue(2)
		const { destination, calls } = recordBatches()
		const deliver = destination((messages) =>
			messages.flatMap(({ id, payload, attempts }) =>
				payload === 1 && attempts === 1 ? twice(id) : [{ id }],
			),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(5_000)
		expect(calls).toEqual([[1, 2], [1]])
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorMessage: 'no' }])
	})

	test('without a message retries it, because it is not known to be sent', async () => {
		await using system = await setup()
		const [missing = ''] = await system.enqueue(3)
		const { destination, calls } = recordBatches()
		const deliver = destination((messages) =>
			messages.filter(({ id, attempts }) => id !== missing || attempts > 1).map(({ id }) => ({ id })),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(5_000)
		expect(calls).toEqual([[1, 2, 3], [1]])
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([
			{ messageId: missing, errorCode: 'YAOKI_OUTBOX_NOT_REPORTED' },
		])
		expect(system.eventsOf('relay_sent')).toHaveLength(3)
	})

	test('with ids that were not in the batch ignores them, with one console warning', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		await using system = await setup()
		const { destination, sizes } = recordBatches()
		const deliver = destination((messages) => [
			...messages.map(({ id }) => ({ id })),
			{ id: 'another-1', error: new Error('no') },
			{ id: 'another-2' },
		])
		await system.relay({ jobs: deliver })
		for (const count of [2, 3]) {
			await system.enqueue(count)
			await system.clock.advance(2_000)
		}
		expect(sizes()).toEqual([2, 3])
		expect(system.eventsOf('relay_sent')).toHaveLength(5)
		expect(warn).toHaveBeenCalledOnce()
		expect(String(warn.mock.calls[0]?.[0])).toContain('another-1')
	})

	test.each([
		['a number', 5],
		['an object', { id: 'x' }],
		['null', null],
		['an element without id', [{ error: undefined }]],
		['an element that is an id', ['x']],
		['an id that is no string', [{ id: 5 }]],
	])('that is %s fails the whole call', async (_, report) => {
		await using system = await setup()
		await system.enqueue(3)
		const given: unknown = report
		let calls = 0
		const { destination } = recordBatches()
		const deliver = destination(() => (calls++ === 0 ? (given as undefined) : undefined))
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(10)
		expect(system.eventsOf('relay_retry_scheduled')).toHaveLength(3)
		for (const event of system.eventsOf('relay_retry_scheduled'))
			expect(event).toMatchObject({ errorCode: 'YAOKI_OUTBOX_INVALID_REPORT' })
		await system.clock.advance(5_000)
		expect(system.eventsOf('relay_sent')).toHaveLength(3)
	})

	test('that cannot be read fails the whole call with its error', async () => {
		await using system = await setup()
		await system.enqueue(2)
		const hostile = {
			get id(): string {
				throw new Error('no id')
			},
		}
		const { destination } = recordBatches()
		await system.relay({ jobs: destination(() => [hostile]) }, OPTIONS)
		await system.clock.advance(10)
		expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([
			{ errorMessage: 'no id' },
			{ errorMessage: 'no id' },
		])
	})

	test('of many rejected messages among others does not open the circuit', async () => {
		await using system = await setup()
		await system.enqueue(30)
		const { destination } = recordBatches()
		const deliver = destination((messages) =>
			messages.map(({ id, payload }) => ({
				id,
				error: Number(payload) < 20 ? new HttpError(422) : undefined,
			})),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1_000)
		expect(await deadPayloads(system)).toHaveLength(19)
		expect(system.eventsOf('relay_state_change')).toEqual([])
	})

	test('of failures only opens the circuit, which counts each message', async () => {
		await using system = await setup()
		await system.enqueue(6)
		const { destination } = recordBatches()
		const deliver = destination((messages) => messages.map(({ id }) => ({ id, error: new HttpError(500) })))
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(10)
		expect(system.eventsOf('relay_state_change')).toMatchObject([{ to: 'open', reason: 'circuit-open' }])
	})

	test('of one message that is forbidden among others buries it (regression: it opened the circuit again and again, and was never a dead letter)', async () => {
		await using system = await setup()
		await system.enqueue(5)
		const { destination } = recordBatches()
		const deliver = destination((messages) =>
			messages.map(({ id, payload }) => ({ id, error: payload === 2 ? new HttpError(403) : undefined })),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(1_000)
		expect(await deadPayloads(system)).toEqual([2])
		expect(system.eventsOf('relay_state_change')).toEqual([])
	})

	test('of failures side by side among others that were sent does not open the circuit (regression: their order looked like failures one after the other)', async () => {
		await using system = await setup()
		await system.enqueue(30)
		const { destination } = recordBatches()
		const deliver = destination((messages) =>
			messages.map(({ id, payload, attempts }) => ({
				id,
				error: Number(payload) > 20 && attempts === 1 ? new HttpError(503) : undefined,
			})),
		)
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(10_000)
		expect(system.eventsOf('relay_state_change')).toEqual([])
		expect(system.eventsOf('relay_sent')).toHaveLength(30)
	})

	test('with the same Retry-After for each message pauses the destination once', async () => {
		await using system = await setup()
		await system.enqueue(50)
		const pauses = vi.spyOn(system.store, 'pause')
		const { destination } = recordBatches()
		const error = new HttpError(429, undefined, { retryAfterMs: 30_000 })
		const deliver = destination((messages) => messages.map(({ id }) => ({ id, error })))
		await system.relay({ jobs: deliver }, OPTIONS)
		await system.clock.advance(100)
		expect(system.eventsOf('relay_paused')).toMatchObject([{ reason: 'retry-after', pausedForMs: 30_000 }])
		expect(pauses).toHaveBeenCalledOnce()
	})
})

test('the retry budget counts messages', async () => {
	await using system = await setup()
	await system.enqueue(20)
	let left = 5
	const budget = {
		canRetry: () => left > 0,
		recordRetry: () => void left--,
		recordRequest: () => {},
		recordOutcome: vi.fn(),
	}
	const { destination, sizes } = recordBatches()
	const deliver = destination(() => Promise.reject(new Error('down')))
	const retry = { ...RETRY, budget: budget as never }
	await system.relay({ jobs: deliver }, { retry, circuitBreaker: false })
	await system.clock.advance(1_050)
	expect(sizes()).toEqual([20, 5])
	expect(budget.recordOutcome).toHaveBeenCalledTimes(25)
	expect(system.eventsOf('relay_released').filter(({ reason }) => reason === 'budget')).toHaveLength(15)
})

test('a stored message that is not valid JSON becomes a dead letter without a call, and the others are sent', async () => {
	await using system = await setup()
	const [broken = ''] = await system.enqueue(3)
	system.tx.prepare(`UPDATE yaoki_outbox SET headers = '{' WHERE id = '${broken}'`).all()
	const { destination, calls } = recordBatches()
	await system.relay({ jobs: destination() })
	await system.clock.advance(100)
	expect(calls).toEqual([[2, 3]])
	expect(await system.outbox.list()).toMatchObject([{ id: broken, status: 'dead' }])
})

test('an expired message becomes a dead letter without a call', async () => {
	await using system = await setup()
	await system.enqueue(2, { expiresAt: new Date(system.clock.wallNow() + 1_000) })
	await system.enqueue(2)
	await system.clock.advance(2_000)
	const { destination, calls } = recordBatches()
	await system.relay({ jobs: destination() })
	await system.clock.advance(100)
	expect(calls).toEqual([[3, 4]])
	expect(system.eventsOf('relay_dead_letter')).toMatchObject([{ cause: 'expired' }, { cause: 'expired' }])
})

test('a copy with other options keeps its batches, and its deliver sends one message outside a relay', async () => {
	await using system = await setup()
	await system.enqueue(3)
	const { destination, sizes } = recordBatches()
	const failing = new Error('no')
	const original = destination((messages) => messages.map(({ id, key }) => ({ id, error: key && failing })))
	await system.relay({ jobs: { ...original, maxConcurrent: 1 } })
	await system.clock.advance(100)
	expect(sizes()).toEqual([3])
	const context = { signal: new AbortController().signal, attempt: 0 }
	const message = { id: 'a', payload: 1 } as Message
	await expect(original.deliver(message, context)).resolves.toBeUndefined()
	await expect(original.deliver({ ...message, key: 'k' }, context)).rejects.toBe(failing)
	expect(sizes()).toEqual([3, 1, 1])
})

test('a destination of another copy of the package keeps its batches (regression: it got one message per call)', async () => {
	await using system = await setup()
	await system.enqueue(3)
	const { destination, sizes } = recordBatches()
	const { deliver } = destination()
	vi.resetModules()
	const copy: typeof import('yaoki/outbox') = await import('yaoki/outbox')
	expect(copy.batchDestination).not.toBe(batchDestination)
	const relay = new copy.Relay(new copy.Outbox({ store: system.store }), {
		destinations: { jobs: deliver },
		runtime: system.clock,
	})
	await relay.start()
	await system.clock.advance(100)
	expect(sizes()).toEqual([3])
	const stopped = relay.stop()
	await system.clock.advance(100)
	await stopped
})

test.each<[string, unknown, string]>([
	['nothing', undefined, 'options'],
	['no deliver', {}, 'deliver'],
	['deliver that is no function', { deliver: 5 }, 'deliver'],
	['maxMessages of 0', { deliver: () => {}, maxMessages: 0 }, 'maxMessages'],
	['maxMessages of 1.5', { deliver: () => {}, maxMessages: 1.5 }, 'maxMessages'],
	['maxBytes of 0', { deliver: () => {}, maxBytes: 0 }, 'maxBytes'],
	['an unknown option', { deliver: () => {}, maxMesages: 5 }, 'maxMesages'],
])('rejects %s', (_, options, optionPath) => {
	expect(() => batchDestination(options as BatchDestinationOptions)).toThrow(
		expect.objectContaining({ optionPath }),
	)
})

test('suggests the nearest name of an unknown option', () => {
	expect(() => batchDestination({ deliver: () => {}, maxMesages: 5 } as BatchDestinationOptions)).toThrow(
		'Did you mean "maxMessages"?',
	)
})

test('with topics, and without, the handler gets typed payloads', () => {
	const topics = { paid: z.object({ id: z.string() }) }
	new Relay(new Outbox({ store: fakeStore(), topics }), {
		destinations: {
			paid: batchDestination({
				deliver: async (messages) => {
					expectTypeOf(messages).toEqualTypeOf<readonly Message<'paid', { id: string }>[]>()
				},
			}),
		},
	})
	new Relay(new Outbox({ store: fakeStore() }), {
		destinations: {
			any: batchDestination({
				deliver: (messages: readonly Message<string, { cents: number }>[]) =>
					messages.map(({ id, payload }) => ({
						id,
						error: payload.cents < 0 ? new Error('negative') : undefined,
					})),
			}),
			other: batchDestination({
				deliver: async ([first]) => {
					expectTypeOf(first?.payload).toEqualTypeOf<unknown>()
				},
			}),
		},
	})
})
