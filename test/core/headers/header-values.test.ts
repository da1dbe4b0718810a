import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
	readDecimal,
	readRetryAfterHeaders,
	readWaitMs,
	trimBlanks,
} from '../../../src/core/headers/header-values.ts'

const NOW = Date.UTC(2026, 0, 1)
const at = (offsetMs: number): string => new Date(NOW + offsetMs).toUTCString()

describe('trimBlanks', () => {
	it('removes spaces and tabs on both sides, and keeps those inside', () => {
		expect(trimBlanks(' \t a \t b\t ')).toBe('a \t b')
		expect(trimBlanks('\t \t')).toBe('')
	})

	it('keeps white space that HTTP does not trim', () => {
		for (const space of ['\u00A0', '\n', '\r', '\v', '\u2003'])
			expect(trimBlanks(`${space}1 `)).toBe(`${space}1`)
	})

	it('equals the definition by a regular expression for any text', () => {
		const text = fc.string({ unit: fc.constantFrom(' ', '\t', 'a', '\u00A0') })
		fc.assert(fc.property(text, (value) => trimBlanks(value) === value.replace(/^[ \t]+|[ \t]+$/g, '')))
	})
})

describe('readDecimal', () => {
	it.each([
		['0', 0],
		['007', 7],
		[' 1.5\t', 1.5],
		['123456789012345', 123_456_789_012_345],
	])('reads %j', (text, value) => {
		expect(readDecimal(text)).toBe(value)
	})

	it.each([
		'',
		' ',
		'-1',
		'+1',
		'1e3',
		'0x10',
		'1.',
		'.5',
		'1,5',
		'1 2',
		'Infinity',
		'1234567890123456',
		'\u0661',
	])('rejects %j, although Number may accept it', (text) => {
		expect(readDecimal(text)).toBeUndefined()
	})
})

describe('the lines of a Retry-After header', () => {
	it.each([
		[['120'], 120_000],
		[[' 5 '], 5_000],
		[['5', '7'], 7_000],
		[['5, 7'], 7_000],
		[[at(30_000)], 30_000],
		[[`${at(30_000)}, ${at(60_000)}`], 60_000],
		[[at(-30_000)], 0],
		[['9'.repeat(400)], Number.MAX_SAFE_INTEGER],
	])('%j ask for a wait of %d ms', (lines, waitMs) => {
		expect(readWaitMs(lines, NOW)).toBe(waitMs)
	})

	it.each([
		[[]],
		[['']],
		[['5', 'soon']],
		[['5, ']],
		[['1.5']],
		[['-5']],
		[['Thu, 01 Jan 2026 00:00:30']],
		[['Fri, 01 Jan 2026 00:00:30 GMT']],
		[['2026-01-01T00:00:30Z']],
		[[5]],
		[[undefined, '5']],
	])('%j are invalid as a whole', (lines) => {
		expect(readWaitMs(lines, NOW)).toBeUndefined()
	})

	it('a date is read by the given parser', () => {
		expect(readWaitMs(['soon'], NOW, (text, nowMs) => (text === 'soon' ? nowMs + 1 : undefined))).toBe(1)
	})

	it('the longest wait applies in any order', () => {
		const seconds = fc.array(fc.nat({ max: 1e6 }), { minLength: 1 })
		fc.assert(fc.property(seconds, (list) => readWaitMs(list.map(String), NOW) === Math.max(...list) * 1_000))
	})
})

describe('the wait that a response asks for', () => {
	const read = (headers: Record<string, string | null>): number | undefined =>
		readRetryAfterHeaders({ get: (name) => headers[name] }, NOW)

	it('is undefined without a header, and with an invalid one', () => {
		expect(read({})).toBeUndefined()
		expect(read({ 'retry-after': null })).toBeUndefined()
		expect(read({ 'retry-after': 'soon', date: at(0) })).toBeUndefined()
	})

	it.each(['retry-after-ms', 'x-ms-retry-after-ms'])('follows %s rather than Retry-After', (name) => {
		expect(read({ [name]: '1500.5', 'retry-after': '2' })).toBe(1_500.5)
		expect(read({ [name]: 'soon', 'retry-after': '2' })).toBe(2_000)
	})

	it('compares a date with the clock of the server', () => {
		const fiveMinutes = 300_000
		expect(read({ 'retry-after': at(fiveMinutes + 10_000), date: at(fiveMinutes) })).toBe(10_000)
	})

	it.each([undefined, 'now'])('compares a date with the local clock if the Date header is %j', (date) => {
		expect(read({ 'retry-after': at(10_000), ...(date && { date }) })).toBe(10_000)
	})

	it('takes seconds as they are, whatever the Date header says', () => {
		expect(read({ 'retry-after': '10', date: at(-300_000) })).toBe(10_000)
	})
})
