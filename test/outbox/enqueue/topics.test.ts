import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import type {
	DeliveredFor,
	EnqueueResult,
	MessageFor,
	NewMessage,
	Topics,
} from '../../../src/outbox/message/message.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { Relay } from '../../../src/outbox/relay/relay.ts'
import { fakeStore } from '../fake-store.ts'

const topics = {
	'order.created': z.object({ id: z.string(), items: z.array(z.object({ price: z.number().positive() })) }),
	'order.paid': v.object({
		id: v.string(),
		at: v.pipe(v.string(), v.toDate()),
		by: v.optional(v.string(), 'card'),
	}),
}

const setup = () => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, topics, outsideTransaction: 'allow' }) }
}

describe('types inferred from the schemas of topics', () => {
	test('infer the payload of a topic', () => {
		const { outbox } = setup()
		type Enqueued = Parameters<typeof outbox.enqueue>[0]
		expectTypeOf<MessageFor<typeof topics>['topic']>().toEqualTypeOf<'order.created' | 'order.paid'>()
		type Paid = Extract<MessageFor<typeof topics>, { topic: 'order.paid' }>
		expectTypeOf<Paid['payload']>().toEqualTypeOf<{ id: string; at: string; by?: string | undefined }>()
		type Created = Extract<MessageFor<typeof topics>, { topic: 'order.created' }>
		expectTypeOf<Created['payload']>().toEqualTypeOf<{ id: string; items: { price: number }[] }>()
		expectTypeOf<DeliveredFor<typeof topics, 'order.paid'>['payload']>().toEqualTypeOf<{
			id: string
			at: string
			by: string
		}>()
		expectTypeOf<Enqueued>().toEqualTypeOf<MessageFor<typeof topics> | readonly MessageFor<typeof topics>[]>()
		expectTypeOf({ topic: 'order.created' as const, payload: { id: 1 } }).not.toExtend<
			MessageFor<typeof topics>
		>()
		expectTypeOf({ topic: 'order.lost' as const, payload: {} }).not.toExtend<MessageFor<typeof topics>>()
	})

	test('return one result for one message and an array for an array', () => {
		const { outbox } = setup()
		const one = () => outbox.enqueue({ topic: 'order.created', payload: { id: '7', items: [] } })
		const many = () => outbox.enqueue([{ topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } }])
		expectTypeOf(one).returns.toEqualTypeOf<Promise<EnqueueResult>>()
		expectTypeOf(many).returns.toEqualTypeOf<Promise<EnqueueResult[]>>()
	})

	test('return a union for a union', () => {
		const outbox = new Outbox({ store: fakeStore() })
		const enqueue = (given: NewMessage | readonly NewMessage[]) => outbox.enqueue(given)
		expectTypeOf(enqueue).returns.toEqualTypeOf<Promise<EnqueueResult | EnqueueResult[]>>()
	})

	test('make an outbox with topics assignable to Outbox, and its relay to Relay', () => {
		const { outbox } = setup()
		const health = (_outbox: Outbox): void => {}
		health(outbox)
		const start = (given: Outbox): Relay => new Relay(given, { destinations: { '*': () => {} } })
		const relay: Relay = new Relay(outbox, { destinations: { 'order.paid': () => {} } })
		expectTypeOf(start).toBeCallableWith(outbox)
		expectTypeOf(relay).toEqualTypeOf<Relay>()
	})

	test('allow any topic and payload without topics', () => {
		const outbox = new Outbox({ store: fakeStore() })
		expectTypeOf(outbox).toEqualTypeOf<Outbox>()
		expectTypeOf<MessageFor<Topics>>().toEqualTypeOf<NewMessage>()
		const one = () => outbox.enqueue({ topic: 'any.thing', payload: [1, { a: null }] })
		expectTypeOf(one).returns.toEqualTypeOf<Promise<EnqueueResult>>()
		expectTypeOf<{ topic: string }>().not.toExtend<NewMessage>()
	})

	test('can be inferred from an Outbox parameter', () => {
		const { outbox } = setup()
		const paid = <T extends Topics>(_outbox: Outbox<T>): DeliveredFor<T, 'order.paid'> | undefined =>
			undefined
		expectTypeOf(paid(outbox)?.payload.at).toEqualTypeOf<string | undefined>()
	})
})

describe('a valid payload', () => {
	test('stores the output of zod', async () => {
		const { outbox, store } = setup()
		const payload = { id: '7', items: [{ price: 1 }], unknown: true }
		await outbox.enqueue({ topic: 'order.created', payload })
		expect(store.rows[0]?.payload).toBe('{"id":"7","items":[{"price":1}]}')
	})

	test('stores the output of valibot, with its defaults and conversions', async () => {
		const { outbox, store } = setup()
		await outbox.enqueue({ topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } })
		expect(store.rows[0]?.payload).toBe('{"id":"7","at":"2026-01-01T00:00:00.000Z","by":"card"}')
	})

	test('rejects a schema output that JSON cannot hold', async () => {
		const store = fakeStore()
		const outbox = new Outbox({ store, topics: { a: z.coerce.bigint() }, outsideTransaction: 'allow' })
		await expect(outbox.enqueue({ topic: 'a', payload: '12' })).rejects.toThrow(
			'payload: expected a JSON value, got the bigint 12n',
		)
	})
})

describe('an invalid payload', () => {
	test('is rejected before anything is written, with every issue, its path and its topic', async () => {
		const { outbox, store } = setup()
		const payload = { id: 7 as unknown as string, items: [{ price: 1 }, { price: -1 }] }
		const error: Error = await outbox.enqueue({ topic: 'order.created', payload }).then(
			() => new Error('it was accepted'),
			(reason) => reason,
		)
		expect(error).toMatchObject({
			code: 'YAOKI_INVALID_MESSAGE',
			topic: 'order.created',
			issues: [{ field: 'payload.id' }, { field: 'payload.items[1].price' }],
		})
		expect(error.message).toMatch(
			/^Invalid message \(order\.created\): payload\.id: .*string.*; payload\.items\[1\]\.price: /,
		)
		expect(store.rows).toEqual([])
	})

	test('is rejected with its index in the batch, and nothing of the batch is written', async () => {
		const { outbox, store } = setup()
		const good = { topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } } as const
		const bad = { topic: 'order.paid', payload: { id: '7', at: 12 as unknown as string } } as const
		await expect(outbox.enqueue([good, good, bad])).rejects.toMatchObject({
			index: 2,
			message: expect.stringContaining('messages[2] (order.paid): payload.at: '),
		})
		expect(store.rows).toEqual([])
	})

	test('lists ten issues in the text and all in the field issues', async () => {
		const store = fakeStore()
		const outbox = new Outbox({ store, topics: { a: z.array(z.string()) }, outsideTransaction: 'allow' })
		const payload = Array.from({ length: 25 }, (_, i) => i) as unknown as string[]
		await expect(outbox.enqueue({ topic: 'a', payload })).rejects.toMatchObject({
			message: expect.stringMatching(/payload\[9\]: .*; and 15 more$/),
			issues: { length: 25 },
		})
	})

	test('rejects an unknown topic with a suggestion', async () => {
		const { outbox } = setup()
		const message = { topic: 'order.craeted', payload: {} } as unknown as MessageFor<typeof topics>
		await expect(outbox.enqueue(message)).rejects.toThrow(
			'topic: unknown topic. Did you mean "order.created"?',
		)
	})

	test.each(['constructor', '__proto__', 'toString'])('rejects the topic %s', async (topic) => {
		const { outbox } = setup()
		const message = { topic, payload: {} } as unknown as MessageFor<typeof topics>
		await expect(outbox.enqueue(message)).rejects.toThrow(
			'topic: unknown topic. Valid topics: order.created and order.paid',
		)
	})
})

describe('an asynchronous schema', () => {
	const slow = {
		zod: z
			.object({ id: z.string() })
			.refine(async ({ id }) => id !== 'taken', { message: 'is taken', path: ['id'] }),
		valibot: v.objectAsync({
			id: v.pipeAsync(
				v.string(),
				v.checkAsync(async (id) => id !== 'taken', 'is taken'),
			),
		}),
	}
	const openSlow = () => {
		const store = fakeStore()
		return { store, outbox: new Outbox({ store, topics: slow, outsideTransaction: 'allow' }) }
	}

	test.each(['zod', 'valibot'] as const)('is awaited: %s', async (topic) => {
		const { outbox, store } = openSlow()
		await outbox.enqueue([
			{ topic, payload: { id: 'a' } },
			{ topic, payload: { id: 'b' } },
		])
		expect(store.rows.map(({ payload }) => payload)).toEqual(['{"id":"a"}', '{"id":"b"}'])
		await expect(
			outbox.enqueue([
				{ topic, payload: { id: 'a' } },
				{ topic, payload: { id: 'taken' } },
			]),
		).rejects.toThrow(`messages[1] (${topic}): payload.id: is taken`)
		expect(store.rows).toHaveLength(2)
	})

	test('keeps ids in the order of the batch', async () => {
		const { outbox, store } = openSlow()
		await outbox.enqueue(['a', 'b', 'c'].map((id) => ({ topic: 'zod' as const, payload: { id } })))
		const ids = store.rows.map(({ id }) => id)
		expect(ids.toSorted()).toEqual(ids)
	})

	test('causes no unhandled rejection when another message is invalid', async () => {
		const store = fakeStore()
		const broken = {
			'~standard': { version: 1, vendor: 'own', validate: () => Promise.reject(new Error('no database')) },
		} as const
		const outbox = new Outbox({ store, topics: { broken, fine: z.string() }, outsideTransaction: 'allow' })
		const unhandled: unknown[] = []
		const onUnhandled = (reason: unknown) => unhandled.push(reason)
		process.on('unhandledRejection', onUnhandled)
		const bad = { topic: 'fine', payload: 1 as unknown as string } as const
		await expect(outbox.enqueue([{ topic: 'broken', payload: 'a' }, bad])).rejects.toThrow(
			'messages[1] (fine)',
		)
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', onUnhandled)
		expect(unhandled).toEqual([])
		await expect(outbox.enqueue({ topic: 'broken', payload: 'a' })).rejects.toThrow('no database')
	})
})

test('a synchronous schema writes the row within the tick, before a commit that is not awaited', async () => {
	const { outbox, store } = setup()
	const enqueued = outbox.enqueue({ topic: 'order.created', payload: { id: '7', items: [] } })
	expect(store.rows).toHaveLength(1)
	await enqueued
})

test('accepts issue paths of objects and issues without a path', async () => {
	const schema = {
		'~standard': {
			version: 1,
			vendor: 'own',
			validate: () => ({
				issues: [{ message: 'is odd', path: [{ key: 'a' }, Symbol('s'), 0, 'b c'] }, { message: 'is bad' }],
			}),
		},
	} as const
	const outbox = new Outbox({ store: fakeStore(), topics: { a: schema }, outsideTransaction: 'allow' })
	await expect(outbox.enqueue({ topic: 'a', payload: 1 })).rejects.toThrow(
		'message (a): payload.a[Symbol(s)][0]["b c"]: is odd; payload: is bad',
	)
})
