import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { canonicalJson } from '../../../src/idempotency/key/canonical-json.ts'
import {
	type FingerprintInput,
	type FingerprintOptions,
	fingerprintOf,
} from '../../../src/idempotency/key/fingerprint.ts'
import { sha256, webSha256 } from '../../../src/idempotency/key/sha256.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

const REQUEST: FingerprintInput = {
	method: 'POST',
	path: '/charges',
	query: 'b=2&a=1',
	contentType: 'application/json; charset=utf-8',
	body: bytes('{"amount":1}'),
}

const of = (changes: Partial<FingerprintInput> = {}, options?: FingerprintOptions) =>
	fingerprintOf({ ...REQUEST, ...changes }, options)

describe('a fingerprint is the same for', () => {
	it.each<[string, Partial<FingerprintInput>, FingerprintOptions?]>([
		['the same request', {}],
		['the query in another order', { query: 'a=1&b=2' }],
		['other parameters of the content type', { contentType: 'Application/JSON' }],
	])('%s', async (_, changes, options) => {
		expect(await of(changes, options)).toBe(await of({}, options))
	})

	it('members in another order with canonicalJson', async () => {
		const options = { canonicalJson: true }
		const a = await of({ body: bytes('{"a":1,"b":[{"d":1,"c":2}]}') }, options)
		expect(await of({ body: bytes('{ "b": [{"c":2,"d":1}], "a": 1 }') }, options)).toBe(a)
		expect(await of({ body: { parsed: { b: [{ c: 2, d: 1 }], a: 1 } } }, options)).toBe(a)
	})

	it('other values of excluded fields', async () => {
		const options = { excludedFields: ['at', 'meta.trace'] }
		const a = await of({ body: bytes('{"at":1,"meta":{"trace":"x","id":7}}') }, options)
		expect(await of({ body: bytes('{"meta":{"id":7,"trace":"y"},"at":2}') }, options)).toBe(a)
		expect(await of({ body: bytes('{"meta":{"id":8,"trace":"y"},"at":2}') }, options)).not.toBe(a)
	})
})

describe('a fingerprint differs for', () => {
	it.each<[string, Partial<FingerprintInput>]>([
		['another method', { method: 'PATCH' }],
		['another path', { path: '/refunds' }],
		['another query', { query: 'b=2&a=2' }],
		['values of one name in another order', { query: 'a=1&b=2&b=1' }],
		['another content type', { contentType: 'text/plain' }],
		['another body', { body: bytes('{"amount":2}') }],
		['other bytes of the same JSON value', { body: bytes('{"amount": 1}') }],
		['no body', { body: undefined }],
		['a path that swallows a part of the query', { path: '/charges?a=1', query: 'b=2' }],
	])('%s', async (_, changes) => {
		expect(await of(changes)).not.toBe(await of())
	})

	it('invalid JSON of other bytes with canonicalJson', async () => {
		const options = { canonicalJson: true }
		expect(await of({ body: bytes('{') }, options)).not.toBe(await of({ body: bytes('[') }, options))
	})
})

test('canonical JSON has the value of the original and one text for all orders of members', () => {
	fc.assert(
		fc.property(fc.jsonValue(), (value) => {
			const text = canonicalJson(value)
			expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
			expect(canonicalJson(reversed(value))).toBe(text)
		}),
	)
})

test('WebCrypto and node:crypto return the same hash', async () => {
	await fc.assert(
		fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.uint8Array(), async (text, body) => {
			expect(await webSha256(text, body)).toBe(sha256(text, body))
		}),
	)
})

/** The same value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(reversed)
	if (typeof value !== 'object' || value === null) return value
	const members = Object.entries(value).reverse()
	return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]))
}

test('a value with more than 256 levels has no fingerprint', async () => {
	const nested = (levels: number) => {
		let value: unknown = 1
		for (let at = 0; at < levels; at++) value = at % 2 ? [value] : { a: value }
		return { parsed: value }
	}
	const input = { method: 'POST', path: '/', query: '', contentType: 'application/json' }
	expect(await fingerprintOf({ ...input, body: nested(256) })).toHaveLength(43)
	expect(() => fingerprintOf({ ...input, body: nested(257) })).toThrow(
		expect.objectContaining({ code: 'YAOKI_IDEMPOTENCY_JSON_TOO_DEEP' }),
	)
})
