import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/outbox/message/message.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { fakeStore } from '../fake-store.ts'

const setup = () => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, outsideTransaction: 'allow' }) }
}

/** Returns the error for a message with these fields. Untyped, because plain JavaScript can pass anything. */
async function rejection(fields: object): Promise<Error & { readonly issues: readonly unknown[] }> {
	const { outbox, store } = setup()
	const message = { topic: 'order.created', payload: 1, ...fields } as NewMessage
	const error = await outbox.enqueue(message).then(
		() => new Error('it was not rejected'),
		(reason) => reason,
	)
	expect(error).toMatchObject({ name: 'InvalidMessageError', code: 'YAOKI_INVALID_MESSAGE' })
	expect(store.rows).toEqual([])
	return error
}

test('writes a message, with the topic as its default destination', async () => {
	const { outbox, store } = setup()
	const result = await outbox.enqueue({ topic: 'order.created', payload: { total: 12 } })
	expect(result).toEqual({ id: store.rows[0]?.id, isDuplicate: false })
	expect(store.rows).toEqual([
		{
			id: expect.stringMatching(/^[\da-f-]{36}$/),
			topic: 'order.created',
			destination: 'order.created',
			key: null,
			payload: '{"total":12}',
			headers: null,
			dedupeKey: null,
			notBefore: null,
			expiresAt: null,
			maxRetries: null,
		},
	])
})

test('writes every field of a message', async () => {
	const { outbox, store } = setup()
	await outbox.enqueue({
		topic: 'order.created',
		destination: 'billing',
		key: 'order-7',
		payload: null,
		headers: { traceparent: '00-1', 'X-Name': '日本' },
		dedupeKey: 'order-7-created',
		notBefore: new Date(1_000),
		expiresAt: new Date(2_000),
		maxRetries: 0,
	})
	expect(store.rows[0]).toMatchObject({
		destination: 'billing',
		key: 'order-7',
		payload: 'null',
		headers: '{"traceparent":"00-1","X-Name":"日本"}',
		dedupeKey: 'order-7-created',
		notBefore: 1_000,
		expiresAt: 2_000,
		maxRetries: 0,
	})
})

test('stores a time before 1970 as 0 (regression: a notBefore in the year 1 was never sent, because relays scan from 1970 on)', async () => {
	const { outbox, store } = setup()
	const old = new Date('0001-01-01')
	await outbox.enqueue([
		{ topic: 'a', payload: 1, notBefore: old },
		{ topic: 'a', payload: 2, notBefore: new Date(-1), expiresAt: new Date(5) },
		{ topic: 'a', payload: 3, expiresAt: old },
		{ topic: 'a', payload: 4, notBefore: old, expiresAt: old },
	])
	const times = store.rows.map(({ notBefore, expiresAt }) => [notBefore, expiresAt])
	expect(times).toEqual([
		[0, null],
		[0, 5],
		[null, 0],
		[0, 0],
	])
})

test('accepts tabs, percent signs and all non-control characters in a header', async () => {
	const { outbox, store } = setup()
	const headers = { "x-!#$%&'*+.^_`|~": '50 %\tü 日本 \ud83d\ude00', Empty: '' }
	await outbox.enqueue({ topic: 'a', payload: 1, headers })
	expect(JSON.parse(store.rows[0]?.headers ?? '')).toEqual(headers)
})

test('treats an undefined field as not given', async () => {
	const { outbox, store } = setup()
	const nothing = { destination: undefined, key: undefined, headers: undefined, dedupeKey: undefined }
	await outbox.enqueue({ topic: 'a', payload: 1, notBefore: undefined, maxRetries: undefined, ...nothing })
	expect(store.rows[0]).toMatchObject({ destination: 'a', key: null, headers: null, maxRetries: null })
})

describe('a message that cannot be stored or sent', () => {
	const invalid = new Date(Number.NaN)
	test.each([
		[{ topic: undefined }, 'message: topic: expected a non-empty string, got undefined'],
		[{ topic: '' }, "message: topic: expected a non-empty string, got ''"],
		[{ topic: 7 }, 'topic: expected a non-empty string, got 7'],
		[{ topic: 'a\0b' }, 'topic: expected a string without NUL characters and lone surrogates, got '],
		[{ topic: 'x'.repeat(256) }, 'expected at most 255 bytes of UTF-8 (this has 256), got '],
		[{ destination: '' }, "message (order.created): destination: expected a non-empty string, got ''"],
		[{ destination: '日'.repeat(86) }, 'destination: expected at most 255 bytes of UTF-8 (this has 258)'],
		[{ destination: null }, 'destination: expected a non-empty string, got null'],
		[{ key: '\ud83d' }, 'key: expected a string without NUL characters and lone surrogates'],
		[{ key: 12 }, 'key: expected a non-empty string, got 12'],
		[{ key: 'k'.repeat(1_025) }, 'expected at most 1024 bytes of UTF-8 (this has 1025)'],
		[{ dedupeKey: '' }, "dedupeKey: expected a non-empty string, got ''"],
		[{ dedupeKey: 'd'.repeat(2_000) }, '... (2000 characters)'],
		[{ headers: 'a' }, "headers: expected a plain object with string values, got 'a'"],
		[{ headers: null }, 'headers: expected a plain object with string values, got null'],
		[{ headers: ['a'] }, 'headers: expected a plain object with string values, got an array'],
		[
			{ headers: new Headers({ a: 'b' }) },
			'headers: expected a plain object with string values, got a Headers',
		],
		[{ headers: new Map([['a', 'b']]) }, 'headers: expected a plain object with string values, got a Map'],
		[
			{ headers: { a: 1 } },
			'headers["a"]: expected a string without line breaks, control characters and lone surrogates, got 1',
		],
		[{ headers: { a: undefined } }, 'headers["a"]: expected a string without'],
		[{ headers: { a: 'b\0' } }, 'headers["a"]: expected a string without'],
		[{ headers: { a: '\ud83d' } }, 'headers["a"]: expected a string without'],
		[
			{ headers: { '': 'b' } },
			"headers: expected valid HTTP header names (letters, digits and !#$%&'*+-.^_`|~), got ''",
		],
		[{ headers: { 'a\udc00': 'b' } }, 'headers: expected valid HTTP header names'],
		// Regression: these were accepted, and the message failed permanently at its first attempt because fetch rejects them.
		[{ headers: { 'order id': 'b' } }, "got 'order id'"],
		[{ headers: { 注文: 'b' } }, "got '注文'"],
		[{ headers: { 'a:': 'b' } }, 'headers: expected valid HTTP header names'],
		[
			{ headers: { a: 'b\r\nx-admin: 1' } },
			'expected a string without line breaks, control characters and lone surrogates',
		],
		[{ headers: { a: 'b\n' } }, 'expected a string without line breaks'],
		[{ headers: { a: 'b\u007f' } }, 'expected a string without line breaks'],
		[{ headers: { a: 'b'.repeat(70_000) } }, 'headers: expected at most 65536 bytes of JSON, got an object'],
		[{ notBefore: '2026-01-01' }, "notBefore: expected a Date, got '2026-01-01'"],
		[{ notBefore: invalid }, 'notBefore: expected a valid Date, got an invalid one'],
		[{ expiresAt: 12 }, 'expiresAt: expected a Date, got 12'],
		[
			{ notBefore: new Date(2_000), expiresAt: new Date(2_000) },
			"expiresAt: expected a time after notBefore (1970-01-01T00:00:02.000Z), got '1970-01-01T00:00:02.000Z'",
		],
		[{ maxRetries: -1 }, 'maxRetries: expected an integer from 0 to 2147483646, or Infinity, got -1'],
		[{ maxRetries: 1.5 }, 'maxRetries: expected an integer from 0 to 2147483646, or Infinity, got 1.5'],
		[{ maxRetries: 2 ** 31 - 1 }, 'or Infinity, got 2147483647'],
		[{ maxRetries: Number.NEGATIVE_INFINITY }, 'or Infinity, got -Infinity'],
		[{ maxRetries: '3' }, "or Infinity, got '3'"],
		[{ payload: undefined }, 'payload: expected a JSON value (null for no payload), got undefined'],
	])('is rejected with the field and the expected value: %#', async (fields, message) => {
		expect((await rejection(fields)).message).toContain(message)
	})

	test('rejects a misspelled field with a suggestion', async () => {
		const { message } = await rejection({ dedupKey: 'order-7' })
		expect(message).toContain('dedupKey: unknown field. Did you mean "dedupeKey"?')
	})

	test('rejects a field name that every object inherits', async () => {
		expect((await rejection({ constructor: 1 })).message).toContain(
			'constructor: unknown field. Valid fields: topic, destination, key,',
		)
	})

	test.each([[null], [undefined], ['order.created'], [7], [[]]])(
		'rejects %s as a message',
		async (message) => {
			const { outbox } = setup()
			const enqueued = outbox.enqueue([message] as unknown as NewMessage[])
			await expect(enqueued).rejects.toThrow(
				/messages\[0\]: message: expected an object with topic and payload, got /,
			)
		},
	)

	test('accepts strings of exactly the maximum length', async () => {
		const { outbox, store } = setup()
		const [name, key] = ['日'.repeat(85), 'k'.repeat(1_024)]
		await outbox.enqueue({
			topic: name,
			destination: name,
			key,
			dedupeKey: key,
			payload: 1,
			maxRetries: 2 ** 31 - 2,
		})
		expect(store.rows).toHaveLength(1)
	})

	test('accepts emoji and an escaped NUL in a key', async () => {
		const { outbox, store } = setup()
		await outbox.enqueue({ topic: 'a', key: 'kanji 日本 \ud83d\ude00 \\0', payload: 1 })
		expect(store.rows[0]?.key).toBe('kanji 日本 \ud83d\ude00 \\0')
	})

	test('accepts a class instance with getters as a message', async () => {
		class OrderCreated {
			readonly topic = 'order.created'
			get payload() {
				return { total: 1 }
			}
		}
		const { outbox, store } = setup()
		await outbox.enqueue(new OrderCreated())
		expect(store.rows[0]?.payload).toBe('{"total":1}')
	})
})

describe('a batch', () => {
	test('returns one result per message, in order', async () => {
		const { outbox, store } = setup()
		const results = await outbox.enqueue([
			{ topic: 'a', payload: 1, dedupeKey: 'one' },
			{ topic: 'b', payload: 2 },
			{ topic: 'a', payload: 3, dedupeKey: 'one' },
		])
		expect(results.map(({ isDuplicate }) => isDuplicate)).toEqual([false, false, true])
		expect(results[2]?.id).toBe(results[0]?.id)
		expect(store.rows.map(({ topic }) => topic)).toEqual(['a', 'b'])
		expect(store.inserts).toHaveLength(1)
	})

	test('returns an array of one result for one message', async () => {
		expect(await setup().outbox.enqueue([{ topic: 'a', payload: 1 }])).toHaveLength(1)
	})

	test('does not use the database without messages', async () => {
		const { outbox, store } = setup()
		expect(await outbox.enqueue([])).toEqual([])
		expect(store.inserts).toEqual([])
	})

	test('writes nothing if one message is invalid, and the error has its index', async () => {
		const { outbox, store } = setup()
		const messages = [
			{ topic: 'a', payload: 1 },
			{ topic: 'a', payload: { price: 2n } },
		]
		await expect(outbox.enqueue(messages)).rejects.toMatchObject({
			message: expect.stringMatching(/^Invalid messages\[1\] \(a\): payload\.price: /),
			topic: 'a',
			index: 1,
			issues: [{ field: 'payload.price', message: 'expected a JSON value, got the bigint 2n; use a string' }],
		})
		expect(store.rows).toEqual([])
	})

	test('returns ids in the order of its messages', async () => {
		const { outbox, store } = setup()
		await outbox.enqueue(Array.from({ length: 1_000 }, (_, payload) => ({ topic: 'a', payload })))
		const ids = store.rows.map(({ id }) => id)
		expect(ids.toSorted()).toEqual(ids)
	})
})

test('a duplicate by dedupe key returns the id of the first message', async () => {
	const { outbox } = setup()
	const message = { topic: 'a', payload: 1, dedupeKey: 'one' }
	const first = await outbox.enqueue(message)
	expect(await outbox.enqueue(message)).toEqual({ id: first.id, isDuplicate: true })
})
