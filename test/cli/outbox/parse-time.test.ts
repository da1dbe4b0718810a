import { describe, expect, test } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { parseDuration, parseExpiry, parseMoment, relativeTo } from '../../../src/cli/outbox/parse-time.ts'

const NOW = Date.parse('2026-03-14T12:00:00Z')

const invalid = (flag: string, text: string, expected: string): string =>
	new InvalidOptionError(flag, text, expected).message

describe('parseDuration', () => {
	test.each([
		['500ms', 500],
		['30s', 30_000],
		['5m', 300_000],
		['5min', 300_000],
		['1.5h', 5_400_000],
		['2 h', 7_200_000],
		['1d', 86_400_000],
		['0s', 0],
	])('parses %s', (text, ms) => {
		expect(parseDuration('--max-lag', text)).toBe(ms)
	})

	test.each(['5', '', 'm', '-5m', '5 weeks', '5m5s', 'Infinityh', '1e3s'])('rejects %j', (text) => {
		expect(() => parseDuration('--max-lag', text)).toThrow(
			invalid('--max-lag', text, 'a duration such as 500ms, 30s, 5m, 2h or 1d'),
		)
	})
})

test('parseDuration rejects a duration below the minimum', () => {
	expect(parseDuration('--lease', '50ms', 50)).toBe(50)
	expect(() => parseDuration('--lease', '10ms', 50)).toThrow(
		invalid('--lease', '10ms', 'a duration such as 500ms, 30s, 5m, 2h or 1d, at least 50ms'),
	)
})

describe('parseExpiry', () => {
	test('accepts a duration from now, a future date, or never', () => {
		expect(parseExpiry('--expires', '2h', NOW)).toEqual(new Date('2026-03-14T14:00:00Z'))
		expect(parseExpiry('--expires', '2026-03-15', NOW)).toEqual(new Date('2026-03-15T00:00:00Z'))
		expect(parseExpiry('--expires', 'never', NOW)).toBeNull()
	})

	test.each(['0s', '2026-03-14', '17', 'Never', '', '99999999999d'])('rejects %j', (text) => {
		expect(() => parseExpiry('--expires', text, NOW)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', received: text }),
		)
	})
})

describe('parseMoment', () => {
	test('accepts a duration ago or a date', () => {
		expect(parseMoment('--since', '2h', NOW)).toEqual(new Date('2026-03-14T10:00:00Z'))
		expect(parseMoment('--since', '2026-03-01', NOW)).toEqual(new Date('2026-03-01T00:00:00Z'))
		expect(parseMoment('--since', '2026-03-01T09:30:00+01:00', NOW)).toEqual(new Date('2026-03-01T08:30:00Z'))
	})

	test.each(['17', 'yesterday', '2026-13-01', '2026'])('rejects %j', (text) => {
		expect(() => parseMoment('--since', text, NOW)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', received: text }),
		)
	})
})

test('relativeTo formats a moment relative to now', () => {
	expect(relativeTo(NOW, new Date(NOW - 180_000))).toBe('3 min ago')
	expect(relativeTo(NOW, new Date(NOW + 12_000))).toBe('in 12 s')
})
