import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/outbox/message/message.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { fakeStore } from '../fake-store.ts'

const open = () => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, outsideTransaction: 'allow' }) }
}

/** What a message with these fields is refused with. What a user of plain JavaScript may hand over has no type. */
async function refusal(fields: object): Promise<Error & { readonly issues: readonly unknown[] }> {
	const { outbox, store } = open()
	const message = { topic: 'order.created', payload: 1, ...fields } as NewMessage
	const error = await outbox.enqueue(message).then(
		() => new Error('it was not refused'),
		(reason) => reason,
	)
	expect(error).toMatchObject({ name: 'InvalidMessageError', code: 'YAOKI_OUTBOX_MESSAGE' })
	expect(store.rows).toEqual([])
	return error
}

test('a message is written as it is, for the destination named like its topic', async () => {
	const { outbox, store } = open()
	const receipt = await outbox.enqueue({ topic: 'order.created', payload: { total: 12 } })
	expect(receipt).toEqual({ id: store.rows[0]?.id, isDuplicate: false })
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

test('every field of a message is written', async () => {
	const { outbox, store } = open()
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

test('a time before 1970 means now, or over; a notBefore of the year 1 used to be stuck for ever, for relays look from 1970 on', async () => {
	const { outbox, store } = open()
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

test('a header may have a tab, a percent sign and whatever is no control character', async () => {
	const { outbox, store } = open()
	const headers = { "x-!#$%&'*+.^_`|~": '50 %\tü 日本 \ud83d\ude00', Empty: '' }
	await outbox.enqueue({ topic: 'a', payload: 1, headers })
	expect(JSON.parse(store.rows[0]?.headers ?? '')).toEqual(headers)
})

test('what is undefined is as if it were left out', async () => {
	const { outbox, store } = open()
	const nothing = { destination: undefined, key: undefined, headers: undefined, dedupeKey: undefined }
	await outbox.enqueue({ topic: 'a', payload: 1, notBefore: undefined, maxRetries: undefined, ...nothing })
	expect(store.rows[0]).toMatchObject({ destination: 'a', key: null, headers: null, maxRetries: null })
})

describe('what could not be stored or sent is refused, with the field and what it takes', () => {
	const invalid = new Date(Number.NaN)
	test.each([
		[{ topic: undefined }, 'message: topic: got undefined; takes a text that is not empty'],
		[{ topic: '' }, "message: topic: got ''; takes a text that is not empty"],
		[{ topic: 7 }, 'topic: got 7; takes'],
		[{ topic: 'a\0b' }, 'takes a text without NUL and without halves of surrogate pairs'],
		[{ topic: 'x'.repeat(256) }, 'takes at most 255 bytes, and this has 256'],
		[{ destination: '' }, "message (order.created): destination: got ''; takes a text that is not empty"],
		[{ destination: '日'.repeat(86) }, 'destination: got '],
		[{ destination: null }, 'destination: got null; takes'],
		[{ key: '\ud83d' }, 'key: got '],
		[{ key: 12 }, 'key: got 12; takes a text that is not empty'],
		[{ key: 'k'.repeat(1_025) }, 'takes at most 1024 bytes, and this has 1025'],
		[{ dedupeKey: '' }, "dedupeKey: got ''; takes a text that is not empty"],
		[{ dedupeKey: 'd'.repeat(2_000) }, '... (2000 characters)'],
		[{ headers: 'a' }, "headers: got 'a'; takes a plain object of texts"],
		[{ headers: null }, 'headers: got null; takes a plain object of texts'],
		[{ headers: ['a'] }, 'headers: got a list; takes a plain object of texts'],
		[{ headers: new Headers({ a: 'b' }) }, 'headers: got a Headers; takes a plain object of texts'],
		[{ headers: new Map([['a', 'b']]) }, 'headers: got a Map; takes a plain object of texts'],
		[{ headers: { a: 1 } }, 'headers["a"]: got 1; takes a text without line breaks'],
		[{ headers: { a: undefined } }, 'headers["a"]: got undefined; takes a text'],
		[{ headers: { a: 'b\0' } }, 'headers["a"]: got '],
		[{ headers: { a: '\ud83d' } }, 'headers["a"]: got '],
		[{ headers: { '': 'b' } }, "headers: got ''; takes names as HTTP has them"],
		[{ headers: { 'a\udc00': 'b' } }, 'takes names as HTTP has them'],
		// These were taken, and the message died at its first attempt: fetch refuses them, and no retry mends it.
		[{ headers: { 'order id': 'b' } }, "headers: got 'order id'; takes names as HTTP has them: letters"],
		[{ headers: { 注文: 'b' } }, "headers: got '注文'; takes names as HTTP has them"],
		[{ headers: { 'a:': 'b' } }, 'takes names as HTTP has them'],
		[
			{ headers: { a: 'b\r\nx-admin: 1' } },
			'takes a text without line breaks, control characters and halves',
		],
		[{ headers: { a: 'b\n' } }, 'takes a text without line breaks'],
		[{ headers: { a: 'b\u007f' } }, 'takes a text without line breaks'],
		[{ headers: { a: 'b'.repeat(70_000) } }, 'headers: got an object; takes at most 65536 bytes of JSON'],
		[{ notBefore: '2026-01-01' }, "notBefore: got '2026-01-01'; takes a Date"],
		[{ notBefore: invalid }, 'notBefore: got an invalid Date'],
		[{ expiresAt: 12 }, 'expiresAt: got 12; takes a Date'],
		[
			{ notBefore: new Date(2_000), expiresAt: new Date(2_000) },
			"expiresAt: got '1970-01-01T00:00:02.000Z'; takes a time after notBefore, 1970-01-01T00:00:02.000Z",
		],
		[{ maxRetries: -1 }, 'maxRetries: got -1; takes a whole number, 0 or more'],
		[{ maxRetries: 1.5 }, 'maxRetries: got 1.5; takes a whole number, 0 or more'],
		[{ maxRetries: Number.POSITIVE_INFINITY }, 'maxRetries: got Infinity; takes'],
		[{ maxRetries: '3' }, "maxRetries: got '3'; takes"],
		[{ payload: undefined }, 'payload: got undefined; takes anything that JSON can hold'],
	])('%#', async (fields, message) => {
		expect((await refusal(fields)).message).toContain(message)
	})

	test('a misspelt name is refused and not passed over', async () => {
		const { message } = await refusal({ dedupKey: 'order-7' })
		expect(message).toContain(
			"dedupKey: got 'order-7'; takes nothing, for a message has only topic, destination,",
		)
	})

	test('so is a name that every object has', async () => {
		expect((await refusal({ constructor: 1 })).message).toContain('constructor: got 1; takes nothing')
	})

	test.each([[null], [undefined], ['order.created'], [7], [[]]])('%s is no message', async (message) => {
		const { outbox } = open()
		const enqueued = outbox.enqueue([message] as unknown as NewMessage[])
		await expect(enqueued).rejects.toThrow(
			/messages\[0\]: message: got .*; takes an object with topic and payload/,
		)
	})

	test('texts of exactly the greatest length are taken', async () => {
		const { outbox, store } = open()
		const [name, key] = ['日'.repeat(85), 'k'.repeat(1_024)]
		await outbox.enqueue({
			topic: name,
			destination: name,
			key,
			dedupeKey: key,
			payload: 1,
			maxRetries: 2 ** 31 - 1,
		})
		expect(store.rows).toHaveLength(1)
	})

	test('emoji and NUL-like words are no reason to refuse a key', async () => {
		const { outbox, store } = open()
		await outbox.enqueue({ topic: 'a', key: 'kanji 日本 \ud83d\ude00 \\0', payload: 1 })
		expect(store.rows[0]?.key).toBe('kanji 日本 \ud83d\ude00 \\0')
	})

	test('a class with getters is as good a message as any', async () => {
		class OrderCreated {
			readonly topic = 'order.created'
			get payload() {
				return { total: 1 }
			}
		}
		const { outbox, store } = open()
		await outbox.enqueue(new OrderCreated())
		expect(store.rows[0]?.payload).toBe('{"total":1}')
	})
})

describe('a batch', () => {
	test('has one receipt for each message, in their order', async () => {
		const { outbox, store } = open()
		const receipts = await outbox.enqueue([
			{ topic: 'a', payload: 1, dedupeKey: 'one' },
			{ topic: 'b', payload: 2 },
			{ topic: 'a', payload: 3, dedupeKey: 'one' },
		])
		expect(receipts.map(({ isDuplicate }) => isDuplicate)).toEqual([false, false, true])
		expect(receipts[2]?.id).toBe(receipts[0]?.id)
		expect(store.rows.map(({ topic }) => topic)).toEqual(['a', 'b'])
		expect(store.inserts).toHaveLength(1)
	})

	test('of one has a list of one receipt', async () => {
		expect(await open().outbox.enqueue([{ topic: 'a', payload: 1 }])).toHaveLength(1)
	})

	test('of none asks nothing of the database', async () => {
		const { outbox, store } = open()
		expect(await outbox.enqueue([])).toEqual([])
		expect(store.inserts).toEqual([])
	})

	test('of which one is bad is not written at all, and the error says which', async () => {
		const { outbox, store } = open()
		const messages = [
			{ topic: 'a', payload: 1 },
			{ topic: 'a', payload: { price: 2n } },
		]
		await expect(outbox.enqueue(messages)).rejects.toMatchObject({
			message: 'messages[1] (a): payload.price: got the bigint 2n; JSON has none, send it as a text',
			topic: 'a',
			index: 1,
			issues: [{ field: 'payload.price', message: 'got the bigint 2n; JSON has none, send it as a text' }],
		})
		expect(store.rows).toEqual([])
	})

	test('has ids in its order', async () => {
		const { outbox, store } = open()
		await outbox.enqueue(Array.from({ length: 1_000 }, (_, payload) => ({ topic: 'a', payload })))
		const ids = store.rows.map(({ id }) => id)
		expect(ids.toSorted()).toEqual(ids)
	})
})

test('a message that was enqueued before by its dedupe key is told by the id of the first', async () => {
	const { outbox } = open()
	const message = { topic: 'a', payload: 1, dedupeKey: 'one' }
	const first = await outbox.enqueue(message)
	expect(await outbox.enqueue(message)).toEqual({ id: first.id, isDuplicate: true })
})
