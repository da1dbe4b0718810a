import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HttpError, TimeoutError } from '../../../src/core/errors/errors.ts'
import { toStoredError } from '../../../src/outbox/message/stored-error.ts'

const print = (text: string): string => toStoredError(new Error(text)).fingerprint
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const revoked = (): object => {
	const { proxy, revoke } = Proxy.revocable({}, {})
	revoke()
	return proxy
}
const bad = (): never => {
	throw new Error('hostile')
}

describe('toStoredError', () => {
	it('returns the name and first line of an error', () => {
		expect(toStoredError(new TypeError('x is not a function\n  at load'))).toMatchObject({
			type: 'TypeError',
			message: 'x is not a function',
		})
	})

	it.each([
		[undefined, 'undefined', 'undefined was thrown'],
		[null, 'null', 'null was thrown'],
		['no luck', 'string', 'no luck'],
		[7, 'number', '7'],
		[7n, 'bigint', '7'],
		[Symbol('odd'), 'symbol', 'Symbol(odd)'],
		[{}, 'object', ''],
		[() => {}, 'function', ''],
		[{ code: 'E_ODD' }, 'object', 'E_ODD'],
		[{ name: 'Odd', message: 'thing' }, 'Odd', 'thing'],
		[{ name: 5, message: 5 }, 'object', ''],
		[Object.create(null), 'object', ''],
	])('returns the type of a value that is not an error: %o', (thrown, type, text) => {
		expect(toStoredError(thrown)).toMatchObject({ type, message: text })
	})

	it.each([
		['a getter that throws', Object.defineProperty(new Error('x'), 'message', { get: bad })],
		['a name that throws', Object.defineProperty(new Error('x'), 'name', { get: bad })],
		['a cause that throws', Object.defineProperty(new Error('x'), 'cause', { get: bad })],
		['a message with a text that throws', { message: { toString: bad } }],
		['a proxy that throws', new Proxy({}, { get: bad, getPrototypeOf: bad, has: bad, ownKeys: bad })],
		['a revoked proxy', revoked()],
		['a cause that is a revoked proxy', new Error('x', { cause: revoked() })],
		['a response that throws', { response: Object.defineProperty({}, 'status', { get: bad }) }],
		['a ring of causes', Object.assign(new Error('x'), { cause: undefined })],
	])('converts anything: %s', (_, thrown) => {
		const note = toStoredError(thrown)
		expect(note.type).not.toBe('')
		expect(note.fingerprint).toMatch(/^[\da-f]{12}$/)
	})

	it('includes the cause of "fetch failed"', () => {
		const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
		expect(toStoredError(new TypeError('fetch failed', { cause: refused })).message).toBe(
			'fetch failed: ECONNREFUSED',
		)
		expect(toStoredError(new AggregateError([new Error('first')])).message).toBe('first')
		expect(toStoredError(new Error('outer', { cause: 'inner' })).message).toBe('outer: inner')
		expect(toStoredError(new Error('saving: disk full', { cause: new Error('disk full') })).message).toBe(
			'saving: disk full',
		)
	})

	it('includes the message of a cause of this package, without its body', () => {
		const cause = new HttpError(410, 'the body')
		const { message } = toStoredError(new Error('the endpoint is disabled', { cause }))
		expect(message).toBe('the endpoint is disabled: HTTP 410')
	})

	it('skips empty lines', () => {
		expect(toStoredError(new Error('\n \0\n  Invalid call:\nmore')).message).toBe('Invalid call:')
	})

	it('removes control characters', () => {
		expect(toStoredError(new Error('a\0b\u001b[31mc\td')).message).toBe('a b [31mc d')
	})

	it('replaces lone surrogates and keeps pairs', () => {
		expect(toStoredError(new Error('a\uD800b 🙂 \uDC00')).message).toBe('a\uFFFDb 🙂 \uFFFD')
	})

	it('truncates to 500 characters without splitting a pair', () => {
		expect(toStoredError(new Error('x'.repeat(10_000_000))).message).toBe('x'.repeat(500))
		expect(toStoredError(new Error(`${'x'.repeat(499)}🙂`)).message).toBe('x'.repeat(499))
		expect(toStoredError(new Error(`${'x'.repeat(498)}🙂🙂`)).message).toBe(`${'x'.repeat(498)}🙂`)
	})

	it('is valid for any database for any text', () => {
		fc.assert(
			fc.property(
				fc.string({ unit: 'binary', maxLength: 2_500 }),
				fc.string({ unit: 'binary' }),
				(text, name) => {
					for (const thrown of [text, Object.assign(new Error(text), { name })]) {
						const note = toStoredError(thrown)
						expect(note.message.length).toBeLessThanOrEqual(500)
						expect(note.type.length).toBeLessThanOrEqual(100)
						for (const part of [note.message, note.type]) {
							expect(isWellFormed(part)).toBe(true)
							expect(part).not.toMatch(/[\0\r\n]/)
						}
					}
				},
			),
		)
	})

	it('never throws and is deterministic for any value', () => {
		fc.assert(
			fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (thrown) => {
				expect(toStoredError(thrown)).toEqual(toStoredError(thrown))
			}),
		)
	})

	it('is well-formed for lone surrogates', () => {
		const units = fc.array(fc.integer({ min: 0xd700, max: 0xe0ff }), { maxLength: 600 })
		fc.assert(
			fc.property(units, (codes) => {
				expect(isWellFormed(toStoredError(new Error(String.fromCharCode(...codes))).message)).toBe(true)
			}),
		)
	})
})

describe('toStoredError of an HTTP error', () => {
	it('includes name and status', () => {
		expect(toStoredError(new HttpError(503))).toMatchObject({ type: 'HttpError', message: 'HTTP 503' })
		expect(toStoredError({ name: 'AxiosError', message: 'nope', response: { status: 404 } }).message).toBe(
			'HTTP 404: nope',
		)
		expect(toStoredError({ status: 500 }).message).toBe('HTTP 500')
		expect(toStoredError({ status: 7, message: 'no status' }).message).toBe('no status')
	})

	it('differs by status', () => {
		const prints = [400, 404, 429, 500, 503].map((status) => toStoredError(new HttpError(status)).fingerprint)
		expect(new Set(prints).size).toBe(5)
	})

	it('differs by a status that is only in the text', () => {
		expect(print('HTTP 503')).not.toBe(print('HTTP 404'))
		expect(print('Request failed with status code 503')).not.toBe(
			print('Request failed with status code 404'),
		)
		expect(print('HTTP 503 for order 17')).toBe(print('HTTP 503 for order 18'))
	})
})

describe('the response body of an HTTP error', () => {
	const messageFor = (body: unknown): string => toStoredError(new HttpError(422, body)).message

	it.each([
		['no such product', 'HTTP 422: no such product'],
		['\r\n  no such\0product\u001b[31m\nmore', 'HTTP 422: no such product [31m'],
		['{\n  "error": "no such product",\n  "id": 7\n}', 'HTTP 422: "error": "no such product",'],
		[{ error: 'no such product' }, 'HTTP 422: {"error":"no such product"}'],
		[
			{ errors: [{ field: 'sku', at: 3 }, null, true] },
			'HTTP 422: {"errors":[{"field":"sku","at":3},null,true]}',
		],
		[Object.assign(Object.create(null), { a: 1 }), 'HTTP 422: {"a":1}'],
		['', 'HTTP 422'],
		[' \n{}', 'HTTP 422'],
		[{}, 'HTTP 422'],
		[undefined, 'HTTP 422'],
		[null, 'HTTP 422'],
		['HTTP 422', 'HTTP 422'],
	])(
		'is part of the stored message, so that an operator can read why a receiver returned 422 (%j)',
		(body, message) => {
			expect(messageFor(body)).toBe(message)
		},
	)

	it('is truncated to 200 characters without splitting a pair', () => {
		expect(messageFor('x'.repeat(201))).toBe(`HTTP 422: ${'x'.repeat(200)}`)
		expect(messageFor(`${'x'.repeat(199)}🙂`)).toBe(`HTTP 422: ${'x'.repeat(199)}`)
	})

	it('is included for other libraries, but not without a status', () => {
		expect(toStoredError({ name: 'E', message: 'refused', status: 400, body: 'bad sku' }).message).toBe(
			'HTTP 400: refused: bad sku',
		)
		expect(toStoredError(Object.assign(new Error('odd'), { body: 'mine' })).message).toBe('odd')
	})

	it('is not part of the fingerprint', () => {
		const prints = [undefined, 'no such product', 'no such customer', { error: 1 }].map(
			(body) => toStoredError(new HttpError(422, body)).fingerprint,
		)
		expect(new Set(prints).size).toBe(1)
	})

	it('is not read completely if it has megabytes', () => {
		let read = 0
		const counting = new Proxy(
			Array.from({ length: 1_000 }, () => 'no'),
			{
				getOwnPropertyDescriptor: (list, name) => {
					read += 1
					return Reflect.getOwnPropertyDescriptor(list, name)
				},
			},
		)
		expect(messageFor(counting)).toMatch(/^HTTP 422: \["no","no",/)
		expect(read).toBeLessThan(400)
		expect(messageFor({ text: 'x'.repeat(10_000_000) })).toHaveLength('HTTP 422: '.length + 200)
	})

	const ring: Record<string, unknown> = { error: 'round' }
	ring['ring'] = ring

	it.each<[string, unknown]>([
		['a stream', new ReadableStream({ pull: bad })],
		['bytes', new Uint8Array(1_000)],
		['a proxy that throws', new Proxy({}, { getPrototypeOf: bad, ownKeys: bad, get: bad })],
		['a revoked proxy', revoked()],
		['a function', bad],
		['a big integer', 7n],
	])('is ignored if it is hostile: %s', (_, body) => {
		expect(messageFor(body)).toBe('HTTP 422')
	})

	it('is read without running foreign code', () => {
		const body = Object.defineProperty({ toJSON: bad }, 'error', { get: bad, enumerable: true })
		expect(messageFor(body)).toBe('HTTP 422: {"toJSON":…,"error":…}')
	})

	it('is read in bounded time if it is cyclic or has a million empty items', () => {
		expect(messageFor(ring)).toContain('{"error":"round"')
		const nothing = Array.from({ length: 1_000_000 }, () => bad)
		expect(messageFor([nothing, nothing, 'no'])).toBe('HTTP 422')
	})

	it('is ignored if reading it throws', () => {
		const error = Object.defineProperty(new Error('no'), 'body', { get: bad })
		expect(toStoredError(Object.assign(error, { status: 500 })).message).toBe('HTTP 500: no')
	})

	it('is stored as text that any database accepts, whatever its kind', () => {
		fc.assert(
			fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.anything({ withBigInt: true })), (body) => {
				const { message } = toStoredError(new HttpError(500, body))
				expect(message.length).toBeLessThanOrEqual(210)
				expect(isWellFormed(message)).toBe(true)
				expect(message).not.toMatch(/[\0\r\n]/)
			}),
		)
	})
})

describe('a fingerprint', () => {
	const digits = fc.nat().map(String)
	const values: Record<string, fc.Arbitrary<string>> = {
		numbers: fc.oneof(
			digits,
			fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map(String),
		),
		uuids: fc.uuid(),
		'uuids in capitals': fc.uuid().map((id) => id.toUpperCase()),
		hex: fc.stringMatching(/^[\da-f]{16,64}$/),
		'hex with its sign': fc.stringMatching(/^0x[\da-f]{1,16}$/),
		'ids with a prefix': fc.stringMatching(/^ord_[a-z]{0,3}\d[a-z\d]{3,12}$/),
		'ids with hyphens': fc.stringMatching(/^[A-Za-z_]{7}\d[A-Za-z-]{6}[\w]{7}$/),
		'quoted values': fc.stringMatching(/^'[\w ./:-]*'$/),
		'values in double quotes': fc.json().map((json) => JSON.stringify(json)),
		timestamps: fc
			.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
			.map((d) => d.toISOString()),
		'HTTP dates': fc
			.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
			.map((d) => d.toUTCString()),
		'addresses of version 4': fc.ipV4(),
		'addresses with a port': fc
			.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 }))
			.map((parts) => parts.join(':')),
		'addresses of version 6': fc.ipV6().filter((ip) => ip.length > 6),
		'mail addresses': fc.stringMatching(/^[a-z.]{1,9}@[a-z]{1,9}\.(com|org)$/),
	}

	it.each(Object.entries(values))('ignores %s', (_, value) => {
		fc.assert(
			fc.property(value, value, (one, other) => {
				const text = (it: string) => `could not send ${it} to the bank`
				expect(print(text(one))).toBe(print(text(other)))
			}),
		)
	})

	it.each([
		['connect ECONNREFUSED 10.0.0.1:5432', 'connect ECONNREFUSED 127.0.0.1:65000'],
		['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED fe80::1%eth0:99'],
		['Key (id)=(17) already exists.', 'Key (id)=(1899) already exists.'],
		['no answer within 30000 ms', 'no answer within 1.5 ms'],
		['GET https://a.example/orders/17?x=1 failed', 'GET https://a.example/orders/18?y=2&z failed'],
		["can't find user 'bob' in bob's list 1", "can't find user 'al' in bob's list 2"],
		["user 'O'Brien' is unknown", "user 'Bob' is unknown"],
		['bad value "a \\"b\\" c" here', 'bad value "x" here'],
		['ids 1, 2, 3 are gone', 'ids 4 are gone'],
		['Unexpected token \'a\', "abc" is not valid JSON', 'Unexpected token \'b\', "bcd" is not valid JSON'],
		['at 2026-05-15 12:00:00 it broke', 'at 2026-05-15T12:00:00.123+02:00 it broke'],
	])('is equal for the same failure: %s', (one, other) => {
		expect(print(one)).toBe(print(other))
	})

	it.each([
		['connection refused by host', 'connection reset by host'],
		['insufficient funds', 'account closed'],
		["can't find the user's name", "can't hold the user's name"],
		['', 'something'],
	])('differs for another failure: %s', (one, other) => {
		expect(print(one)).not.toBe(print(other))
	})

	it('differs by type or code with the same text', () => {
		const coded = (code: string): Error => Object.assign(new Error('failed'), { code })
		const prints = [new Error('failed'), new TypeError('failed'), coded('ECONNRESET'), coded('23505')].map(
			(error) => toStoredError(error).fingerprint,
		)
		expect(new Set(prints).size).toBe(4)
	})

	it('ignores the second line', () => {
		expect(print('one\ntwo')).toBe(print('one\nthree'))
	})

	it('ignores a tail that a long value cut off', () => {
		const text = (body: string): string => `could not read "${body}" ${'for it is wrong '.repeat(40)}`
		expect(print(text('x'.repeat(900)))).toBe(print(text('y')))
	})

	it('ignores the numbers in errors of the toolkit', () => {
		expect(toStoredError(new TimeoutError('relay', 100)).fingerprint).toBe(
			toStoredError(new TimeoutError('relay', 30_000)).fingerprint,
		)
	})
})
