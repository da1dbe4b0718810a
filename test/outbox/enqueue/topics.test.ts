import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import type {
	DeliveredFor,
	MessageFor,
	NewMessage,
	Receipt,
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

const open = () => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, topics, outsideTransaction: 'allow' }) }
}

describe('what a schema says about a topic', () => {
	test('is the type of its payload, without a type written by hand', () => {
		const { outbox } = open()
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

	test('and one message has one receipt, many have many', () => {
		const { outbox } = open()
		const one = () => outbox.enqueue({ topic: 'order.created', payload: { id: '7', items: [] } })
		const many = () => outbox.enqueue([{ topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } }])
		expectTypeOf(one).returns.toEqualTypeOf<Promise<Receipt>>()
		expectTypeOf(many).returns.toEqualTypeOf<Promise<Receipt[]>>()
	})

	test('and who does not know whether it is one or many gets one or the other', () => {
		const outbox = new Outbox({ store: fakeStore() })
		const enqueue = (given: NewMessage | readonly NewMessage[]) => outbox.enqueue(given)
		expectTypeOf(enqueue).returns.toEqualTypeOf<Promise<Receipt | Receipt[]>>()
	})

	test('an outbox with topics is an Outbox, and its relay a Relay', () => {
		const { outbox } = open()
		const health = (_outbox: Outbox): void => {}
		health(outbox)
		const start = (given: Outbox): Relay => new Relay(given, { destinations: { '*': () => {} } })
		const relay: Relay = new Relay(outbox, { destinations: { 'order.paid': () => {} } })
		expectTypeOf(start).toBeCallableWith(outbox)
		expectTypeOf(relay).toEqualTypeOf<Relay>()
	})

	test('without topics there is any topic and any payload', () => {
		const outbox = new Outbox({ store: fakeStore() })
		expectTypeOf(outbox).toEqualTypeOf<Outbox>()
		expectTypeOf<MessageFor<Topics>>().toEqualTypeOf<NewMessage>()
		const one = () => outbox.enqueue({ topic: 'any.thing', payload: [1, { a: null }] })
		expectTypeOf(one).returns.toEqualTypeOf<Promise<Receipt>>()
		expectTypeOf<{ topic: string }>().not.toExtend<NewMessage>()
	})

	test('who is handed an outbox learns its topics from it', () => {
		const { outbox } = open()
		const paid = <T extends Topics>(_outbox: Outbox<T>): DeliveredFor<T, 'order.paid'> | undefined =>
			undefined
		expectTypeOf(paid(outbox)?.payload.at).toEqualTypeOf<string | undefined>()
	})
})

describe('what is stored is what the schema makes of a payload', () => {
	test('with zod', async () => {
		const { outbox, store } = open()
		const payload = { id: '7', items: [{ price: 1 }], unknown: true }
		await outbox.enqueue({ topic: 'order.created', payload })
		expect(store.rows[0]?.payload).toBe('{"id":"7","items":[{"price":1}]}')
	})

	test('with valibot, defaults and conversions included', async () => {
		const { outbox, store } = open()
		await outbox.enqueue({ topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } })
		expect(store.rows[0]?.payload).toBe('{"id":"7","at":"2026-01-01T00:00:00.000Z","by":"card"}')
	})

	test('what a schema makes must be JSON as well', async () => {
		const store = fakeStore()
		const outbox = new Outbox({ store, topics: { a: z.coerce.bigint() }, outsideTransaction: 'allow' })
		await expect(outbox.enqueue({ topic: 'a', payload: '12' })).rejects.toThrow('payload: got the bigint 12n')
	})
})

describe('what a schema does not take is refused before anything is written', () => {
	test('with every issue, its path and its topic', async () => {
		const { outbox, store } = open()
		const payload = { id: 7 as unknown as string, items: [{ price: 1 }, { price: -1 }] }
		const error: Error = await outbox.enqueue({ topic: 'order.created', payload }).then(
			() => new Error('it was taken'),
			(reason) => reason,
		)
		expect(error).toMatchObject({
			code: 'YAOKI_OUTBOX_MESSAGE',
			topic: 'order.created',
			issues: [{ field: 'payload.id' }, { field: 'payload.items[1].price' }],
		})
		expect(error.message).toMatch(
			/^message \(order\.created\): payload\.id: .*string.*; payload\.items\[1\]\.price: /,
		)
		expect(store.rows).toEqual([])
	})

	test('with the index in a batch, of which nothing is written', async () => {
		const { outbox, store } = open()
		const good = { topic: 'order.paid', payload: { id: '7', at: '2026-01-01' } } as const
		const bad = { topic: 'order.paid', payload: { id: '7', at: 12 as unknown as string } } as const
		await expect(outbox.enqueue([good, good, bad])).rejects.toMatchObject({
			index: 2,
			message: expect.stringContaining('messages[2] (order.paid): payload.at: '),
		})
		expect(store.rows).toEqual([])
	})

	test('many issues are not all told in the text, but all are there', async () => {
		const store = fakeStore()
		const outbox = new Outbox({ store, topics: { a: z.array(z.string()) }, outsideTransaction: 'allow' })
		const payload = Array.from({ length: 25 }, (_, i) => i) as unknown as string[]
		await expect(outbox.enqueue({ topic: 'a', payload })).rejects.toMatchObject({
			message: expect.stringMatching(/payload\[9\]: .*; and 15 more$/),
			issues: { length: 25 },
		})
	})

	test('an unknown topic is told together with those that there are', async () => {
		const { outbox } = open()
		const message = { topic: 'order.craeted', payload: {} } as unknown as MessageFor<typeof topics>
		await expect(outbox.enqueue(message)).rejects.toThrow(
			"topic: got 'order.craeted'; takes one of this outbox's topics: order.created, order.paid",
		)
	})

	test.each(['constructor', '__proto__', 'toString'])('%s is no topic', async (topic) => {
		const { outbox } = open()
		const message = { topic, payload: {} } as unknown as MessageFor<typeof topics>
		await expect(outbox.enqueue(message)).rejects.toThrow(`got '${topic}'; takes one of`)
	})
})

describe('a schema that answers later', () => {
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

	test.each(['zod', 'valibot'] as const)('is waited for: %s', async (topic) => {
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

	test('ids are in the order of the batch, however late each answer comes', async () => {
		const { outbox, store } = openSlow()
		await outbox.enqueue(['a', 'b', 'c'].map((id) => ({ topic: 'zod' as const, payload: { id } })))
		const ids = store.rows.map(({ id }) => id)
		expect(ids.toSorted()).toEqual(ids)
	})

	test('a schema that rejects while another message is refused at once is nothing unhandled', async () => {
		const store = fakeStore()
		const broken = {
			'~standard': { version: 1, vendor: 'own', validate: () => Promise.reject(new Error('no database')) },
		} as const
		const outbox = new Outbox({ store, topics: { broken, fine: z.string() }, outsideTransaction: 'allow' })
		const unhandled: unknown[] = []
		const hear = (reason: unknown) => unhandled.push(reason)
		process.on('unhandledRejection', hear)
		const bad = { topic: 'fine', payload: 1 as unknown as string } as const
		await expect(outbox.enqueue([{ topic: 'broken', payload: 'a' }, bad])).rejects.toThrow(
			'messages[1] (fine)',
		)
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', hear)
		expect(unhandled).toEqual([])
		await expect(outbox.enqueue({ topic: 'broken', payload: 'a' })).rejects.toThrow('no database')
	})
})

test('with a schema that answers at once the row is written within the tick, before a commit that nobody awaits', async () => {
	const { outbox, store } = open()
	const enqueued = outbox.enqueue({ topic: 'order.created', payload: { id: '7', items: [] } })
	expect(store.rows).toHaveLength(1)
	await enqueued
})

test('a schema of somebody else may say where by objects, and need not say it at all', async () => {
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
