import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toPayloadText } from '../../../src/outbox/enqueue/payload.ts'

const MEGABYTE = 1_048_576
const text = (payload: unknown, maxBytes = MEGABYTE) =>
	toPayloadText(payload, maxBytes, { topic: 'order.created' })

/** Returns the issue of a rejected payload as one text. */
function issue(payload: unknown, maxBytes?: number): string {
	try {
		text(payload, maxBytes)
	} catch (error) {
		expect(error).toMatchObject({ name: 'InvalidMessageError', code: 'YAOKI_INVALID_MESSAGE' })
		return (error as Error).message
	}
	throw new Error('it was not rejected')
}

test('every JSON value is preserved', () => {
	fc.assert(
		fc.property(fc.jsonValue(), (value) => {
			expect(text(value)).toBe(JSON.stringify(value))
		}),
	)
})

test('NUL characters and lone surrogates in a payload are preserved and escaped in the text', () => {
	const payload = { nul: 'a\0b', high: 'a\ud83d', low: '\ude00b', pair: '\ud83d\ude00', ['\0\udc00']: 1 }
	const json = text(payload)
	expect(JSON.parse(json)).toEqual(payload)
	expect(json).not.toContain('\0')
	expect(json).not.toMatch(/\p{Surrogate}/u)
})

test('every string is preserved', () => {
	fc.assert(
		fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 0xffff }), (before, unit) => {
			const payload = `${before}${String.fromCharCode(unit)}`
			expect(JSON.parse(text(payload))).toBe(payload)
		}),
	)
})

test('accepts null and undefined properties', () => {
	expect(text(null)).toBe('null')
	expect(text({ a: null, b: undefined, c: [null], d: {} })).toBe('{"a":null,"c":[null],"d":{}}')
	expect(text({ when: new Date(0), none: null })).toBe('{"when":"1970-01-01T00:00:00.000Z","none":null}')
})

describe('a payload', () => {
	const cycle: { items: unknown[] } = { items: [] }
	cycle.items.push({ order: cycle })
	const shared = { a: 1 }
	test.each([
		[
			undefined,
			'Invalid message (order.created): payload: expected a JSON value (null for no payload), got undefined',
		],
		[() => 1, 'payload: expected a JSON value (null for no payload), got a function'],
		[Symbol('x'), 'payload: expected a JSON value (null for no payload), got Symbol(x)'],
		[1n, 'payload: expected a JSON value, got the bigint 1n; use a string'],
		[
			{ items: [{ price: 1 }, { price: 9007199254740993n }] },
			'payload.items[1].price: expected a JSON value, got the bigint 9007199254740993n',
		],
		[{ total: Number.NaN }, 'payload.total: expected a finite number, got NaN'],
		[[1, [Number.POSITIVE_INFINITY]], 'payload[1][0]: expected a finite number, got Infinity'],
		[Number.NEGATIVE_INFINITY, 'payload: expected a finite number, got -Infinity'],
		[{ 'a name': { b: Number.NaN } }, 'payload["a name"].b: expected a finite number, got NaN'],
		[{ at: new Date(Number.NaN) }, 'payload.at: expected a valid Date, got an invalid one'],
		[
			{ tags: new Set(['a']) },
			'payload.tags: expected a JSON value, got a Set, which JSON would serialize as {}',
		],
		[
			{ tags: new Map([['a', 1]]) },
			'payload.tags: expected a JSON value, got a Map, which JSON would serialize as {}',
		],
		[cycle, 'payload.items[0].order: expected a JSON value, got an object that contains itself'],
		[
			{ money: { toJSON: () => ({ amount: Number.NaN }) } },
			'payload.money.amount: expected a finite number, got NaN',
		],
		[{ total: Object(Number.NaN) }, 'payload.total: expected a finite number, got NaN'],
	])('is rejected with the path of a value that JSON cannot hold: %#', (payload, message) => {
		expect(issue(payload)).toContain(message)
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
		[
			Promise.resolve(1),
			'payload: expected a JSON value, got a Promise, which JSON would serialize as {}; use a plain object',
		],
		[{ user: Promise.resolve(1) }, 'payload.user: expected a JSON value, got a Promise'],
		[{ error: new Error('x') }, 'payload.error: expected a JSON value, got an Error'],
		[{ pattern: /x/ }, 'payload.pattern: expected a JSON value, got a RegExp'],
		[{ seen: new WeakMap() }, 'payload.seen: expected a JSON value, got a WeakMap'],
		[{ headers: new Headers({ a: 'b' }) }, 'payload.headers: expected a JSON value, got a Headers'],
		[{ query: new URLSearchParams('a=1') }, 'payload.query: expected a JSON value, got a URLSearchParams'],
		[{ total: new Money() }, 'payload.total: expected a JSON value, got a Money'],
		[{ loader: new Loader() }, 'payload.loader: expected a JSON value, got a Loader'],
		[
			{ actions: { save() {} } },
			'payload.actions: expected a JSON value, got an object with only functions and symbols',
		],
	])('is rejected with an object that JSON would serialize as {}: %#', (payload, message) => {
		expect(issue(payload)).toContain(message)
	})

	test.each([
		[
			[undefined, 1],
			'payload[0]: expected a JSON value, got undefined, which JSON would replace by null; use null if you mean it',
		],
		// A hole, which `every` and `forEach` skip.
		[Object.assign([1], { length: 3 }), 'payload[1]: expected a JSON value, got undefined'],
		[{ steps: [() => 1] }, 'payload.steps[0]: expected a JSON value, got a function'],
		[[[Symbol('x')]], 'payload[0][0]: expected a JSON value, got Symbol(x)'],
		[[{ toJSON: () => undefined }], 'payload[0]: expected a JSON value, got undefined'],
	])('is rejected with an array item that JSON would replace by null: %#', (payload, message) => {
		expect(issue(payload)).toContain(message)
	})

	test('is accepted if it contains the same object twice', () => {
		expect(text({ one: shared, other: [shared, null] })).toBe('{"one":{"a":1},"other":[{"a":1},null]}')
	})
})

test('accepts empty objects and boxed values of every realm', () => {
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
	// As in a test runner that runs every file in its own realm.
	expect(text({ a: runInNewContext('({})'), b: runInNewContext('[null, {}]') })).toBe(
		'{"a":{},"b":[null,{}]}',
	)
})

test('omits a function beside other values, as JSON does (searching for it would slow down every message)', () => {
	expect(text({ a: 1, save() {} })).toBe('{"a":1}')
	expect(text({ a: null, save() {}, [Symbol('x')]: 1 })).toBe('{"a":null}')
})

test('reports the error of a throwing toJSON as message and cause', () => {
	const broken = new Error('no rate for this currency')
	const payload = {
		toJSON: () => {
			throw broken
		},
	}
	expect(issue(payload)).toContain('payload: cannot be serialized as JSON: no rate for this currency')
	expect(() => text(payload)).toThrow(expect.objectContaining({ cause: broken }))
})

test('reports the error of a throwing getter', () => {
	const payload = {
		get total(): number {
			throw new Error('not loaded')
		},
	}
	expect(issue(payload)).toContain('not loaded')
})

test('accepts bigints with a toJSON', () => {
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

test('rejects a payload that is nested too deeply without overflowing the stack', () => {
	let deep: unknown = Number.NaN
	for (let level = 0; level < 200_000; level++) deep = [deep]
	expect(issue(deep)).toMatch(/payload(\[0\])*.*: (cannot be serialized as JSON|expected a finite number)/)
})

test('finds an invalid value deeper than the fast check looks', () => {
	let deep: unknown = { price: Number.NaN }
	for (let level = 0; level < 80; level++) deep = [deep]
	expect(issue(deep)).toContain('[0][0].price: expected a finite number, got NaN')
})

describe('a payload above maxPayloadBytes', () => {
	test('is rejected with both numbers in the message', () => {
		expect(issue('x'.repeat(10_000_000))).toContain(
			'payload: expected at most 1,048,576 bytes of JSON (maxPayloadBytes), got 10,000,002',
		)
	})

	test('is measured in bytes, and exactly the maximum is accepted', () => {
		expect(text('日本', 8)).toBe('"日本"')
		expect(issue('日本', 7)).toContain('expected at most 7 bytes of JSON (maxPayloadBytes), got 8')
		expect(text('x'.repeat(98), 100)).toHaveLength(100)
		expect(issue('x'.repeat(99), 100)).toContain('got 101')
	})
})
