import { describe, expect, it } from 'vitest'
import { parseKey } from '../../../src/idempotency/key/parse-key.ts'

describe('a key is read from', () => {
	it.each([
		['a bare token', '8e03978e-40d5-43e8', '8e03978e-40d5-43e8'],
		['a structured-field string', '"8e03978e-40d5-43e8"', '8e03978e-40d5-43e8'],
		['a string with spaces and escapes', '"a \\"b\\" \\\\"', 'a "b" \\'],
		['a string with parameters', '"abc";v=1', 'abc'],
		['base64', 'q1+/A==', 'q1+/A=='],
		['a URN', 'urn:uuid:6e8bc430', 'urn:uuid:6e8bc430'],
		['a header with white space around it', ' abc\t', 'abc'],
		['a header that a proxy repeated', 'abc, "abc"', 'abc'],
		['several lines with the same key', ['abc', 'abc'], 'abc'],
		['the longest key', 'x'.repeat(255), 'x'.repeat(255)],
	])('%s', (_, header, key) => {
		expect(parseKey(header)).toEqual({ kind: 'key', key })
	})
})

describe('rejects', () => {
	it.each([
		['an empty header', '', 'not a quoted string'],
		['an empty string', '""', 'empty'],
		['a space in a token', 'a b', 'not a quoted string'],
		['an open quote', '"abc', 'not a quoted string'],
		['a control character', 'a\u0001', 'not a quoted string'],
		['a line break in a string', '"a\nb"', 'not a quoted string'],
		['letters outside of ASCII', 'é', 'not a quoted string'],
		['two different keys in one line', 'abc, abd', 'two different keys'],
		['two different keys in two lines', ['abc', 'abd'], 'two different keys'],
		['a key that is too long', 'x'.repeat(256), 'longer than 255 characters'],
		['10 kB', 'x'.repeat(10_240), 'longer than 255 characters'],
	])('%s', (_, header, detail) => {
		expect(parseKey(header)).toEqual({ kind: 'malformed', detail: expect.stringContaining(detail) })
	})

	it('a hostile header in linear time', () => {
		expect(parseKey(`"${'\\'.repeat(100_000)}`, 8_192)).toMatchObject({ kind: 'malformed' })
		expect(parseKey(`${'a,'.repeat(1_000)}b`, 8_192)).toMatchObject({ kind: 'malformed' })
	})
})

it.each([null, undefined])('%s is a missing header', (header) => {
	expect(parseKey(header)).toEqual({ kind: 'missing' })
})
