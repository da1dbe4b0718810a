import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toPayloadText } from '../../../src/outbox/enqueue/payload.ts'

const MEGABYTE = 1_048_576
const text = (payload: unknown, maxBytes = MEGABYTE) =>
	toPayloadText(payload, maxBytes, { topic: 'order.created' })

/** The message of what it is refused with. */
function refusal(payload: unknown, maxBytes?: number): string {
	try {
		text(payload, maxBytes)
	} catch (error) {
		expect(error).toMatchObject({ name: 'InvalidMessageError', code: 'YAOKI_OUTBOX_MESSAGE' })
		return (error as Error).message
	}
	throw new Error('it was not refused')
}

test('whatever JSON can hold comes back the same', () => {
	fc.assert(
		fc.property(fc.jsonValue(), (value) => {
			expect(text(value)).toBe(JSON.stringify(value))
		}),
	)
})

test('NUL characters and halves of surrogate pairs inside of a payload come back the same, and are not in the text', () => {
	const payload = { nul: 'a\0b', high: 'a\ud83d', low: '\ude00b', pair: '\ud83d\ude00', ['\0\udc00']: 1 }
	const json = text(payload)
	expect(JSON.parse(json)).toEqual(payload)
	expect(json).not.toContain('\0')
	expect(json).not.toMatch(/\p{Surrogate}/u)
})

test('any string at all comes back the same', () => {
	fc.assert(
		fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 0xffff }), (before, unit) => {
			const payload = `${before}${String.fromCharCode(unit)}`
			expect(JSON.parse(text(payload))).toBe(payload)
		}),
	)
})

test('null, and what is left out of an object, is fine', () => {
	expect(text(null)).toBe('null')
	expect(text({ a: null, b: undefined, c: [null], d: {} })).toBe('{"a":null,"c":[null],"d":{}}')
	expect(text({ when: new Date(0), none: null })).toBe('{"when":"1970-01-01T00:00:00.000Z","none":null}')
})

describe('what JSON can not hold is refused with its path', () => {
	const cycle: { items: unknown[] } = { items: [] }
	cycle.items.push({ order: cycle })
	const shared = { a: 1 }
	test.each([
		[
			undefined,
			'message (order.created): payload: got undefined; takes anything that JSON can hold; null for nothing',
		],
		[() => 1, 'message (order.created): payload: got a function; takes'],
		[Symbol('x'), 'payload: got Symbol(x); takes'],
		[1n, 'payload: got the bigint 1n; JSON has none, send it as a text'],
		[
			{ items: [{ price: 1 }, { price: 9007199254740993n }] },
			'payload.items[1].price: got the bigint 9007199254740993n',
		],
		[{ total: Number.NaN }, 'payload.total: got NaN; takes a finite number'],
		[[1, [Number.POSITIVE_INFINITY]], 'payload[1][0]: got Infinity; takes a finite number'],
		[Number.NEGATIVE_INFINITY, 'payload: got -Infinity'],
		[{ 'a name': { b: Number.NaN } }, 'payload["a name"].b: got NaN'],
		[{ at: new Date(Number.NaN) }, 'payload.at: got an invalid Date'],
		[{ tags: new Set(['a']) }, 'payload.tags: got a Set, of which JSON keeps nothing'],
		[{ tags: new Map([['a', 1]]) }, 'payload.tags: got a Map, of which JSON keeps nothing'],
		[cycle, 'payload.items[0].order: got an object that contains itself'],
		[{ money: { toJSON: () => ({ amount: Number.NaN }) } }, 'payload.money.amount: got NaN'],
		[{ total: Object(Number.NaN) }, 'payload.total: got NaN'],
	])('%#', (payload, message) => {
		expect(refusal(payload)).toContain(message)
	})

	class Money {
		readonly #cents = 12
		get cents() {
			return this.#cents
		}
	}
	class Loader {
		readonly load = () => 1
	}

	test.each([
		[Promise.resolve(1), 'payload: got a Promise, of which JSON keeps nothing; send what is in it'],
		[{ user: Promise.resolve(1) }, 'payload.user: got a Promise'],
		[{ error: new Error('x') }, 'payload.error: got an Error'],
		[{ pattern: /x/ }, 'payload.pattern: got a RegExp'],
		[{ seen: new WeakMap() }, 'payload.seen: got a WeakMap'],
		[{ headers: new Headers({ a: 'b' }) }, 'payload.headers: got a Headers'],
		[{ query: new URLSearchParams('a=1') }, 'payload.query: got a URLSearchParams'],
		[{ total: new Money() }, 'payload.total: got a Money'],
		[{ loader: new Loader() }, 'payload.loader: got a Loader'],
		[{ actions: { save() {} } }, 'payload.actions: got an object with nothing but functions and symbols'],
	])(
		'an object that was sent as an empty one, with nothing said about what was in it: %#',
		(payload, told) => {
			expect(refusal(payload)).toContain(told)
		},
	)

	test.each([
		[
			[undefined, 1],
			'payload[0]: got undefined, in whose place JSON writes null; send null if that is meant',
		],
		// A hole: `every` and `forEach` pass over it.
		[Object.assign([1], { length: 3 }), 'payload[1]: got undefined'],
		[{ steps: [() => 1] }, 'payload.steps[0]: got a function'],
		[[[Symbol('x')]], 'payload[0][0]: got Symbol(x)'],
		[[{ toJSON: () => undefined }], 'payload[0]: got undefined'],
	])('an item that was sent as null, with nothing said: %#', (payload, told) => {
		expect(refusal(payload)).toContain(told)
	})

	test('the same object twice is no cycle', () => {
		expect(text({ one: shared, other: [shared, null] })).toBe('{"one":{"a":1},"other":[{"a":1},null]}')
	})
})

test('empty objects and boxed values are what they are, wherever they come from', () => {
	class Order {
		readonly id = 'o-1'
		readonly note = undefined
		readonly meta = {}
	}
	class Options {
		readonly note = undefined
	}
	expect(text({ a: {}, b: Object.create(null), c: [] })).toBe('{"a":{},"b":{},"c":[]}')
	expect(text(new Order())).toBe('{"id":"o-1","meta":{}}')
	expect(text({ a: new Options(), b: { c: undefined } })).toBe('{"a":{},"b":{}}')
	expect(text([Object(1), Object('a'), Object(false), null, {}])).toBe('[1,"a",false,null,{}]')
	expect(text({ a: { toJSON: () => ({}) } })).toBe('{"a":{}}')
	// As in a test runner that gives every file a realm of its own.
	expect(text({ a: runInNewContext('({})'), b: runInNewContext('[null, {}]') })).toBe(
		'{"a":{},"b":[null,{}]}',
	)
})

test('a function beside other values is left out, as JSON does: to look for it would make every message dearer', () => {
	expect(text({ a: 1, save() {} })).toBe('{"a":1}')
	expect(text({ a: null, save() {}, [Symbol('x')]: 1 })).toBe('{"a":null}')
})

test('a toJSON that throws is told with its words, and is the cause', () => {
	const broken = new Error('no rate for this currency')
	const payload = {
		toJSON: () => {
			throw broken
		},
	}
	expect(refusal(payload)).toContain('payload: could not be written as JSON: no rate for this currency')
	expect(() => text(payload)).toThrow(expect.objectContaining({ cause: broken }))
})

test('a getter that throws is told as well', () => {
	const payload = {
		get total(): number {
			throw new Error('not loaded')
		},
	}
	expect(refusal(payload)).toContain('not loaded')
})

test('bigints that have been taught to be written are fine', () => {
	const prototype = BigInt.prototype as { toJSON?: unknown }
	prototype.toJSON = function (this: bigint) {
		return String(this)
	}
	try {
		expect(text({ id: 12n, none: null })).toBe('{"id":"12","none":null}')
	} finally {
		delete prototype.toJSON
	}
})

test('what is nested too deeply is refused and does not end the process', () => {
	let deep: unknown = Number.NaN
	for (let level = 0; level < 200_000; level++) deep = [deep]
	expect(refusal(deep)).toMatch(/payload(\[0\])*.*: (could not be written as JSON|got NaN)/)
})

test('what is nested deeply and lies beyond the quick look is still found', () => {
	let deep: unknown = { price: Number.NaN }
	for (let level = 0; level < 80; level++) deep = [deep]
	expect(refusal(deep)).toContain('[0][0].price: got NaN')
})

describe('a payload above the limit is refused with both figures', () => {
	test('ten megabytes', () => {
		expect(refusal('x'.repeat(10_000_000))).toContain(
			'payload: is 10,000,002 bytes of JSON; at most 1,048,576 are taken (maxPayloadBytes)',
		)
	})

	test('it is bytes that count, and exactly as many as said are taken', () => {
		expect(text('日本', 8)).toBe('"日本"')
		expect(refusal('日本', 7)).toContain('is 8 bytes of JSON; at most 7')
		expect(text('x'.repeat(98), 100)).toHaveLength(100)
		expect(refusal('x'.repeat(99), 100)).toContain('101 bytes')
	})
})
