import { describe, expect, test } from 'vitest'
import { readDuration, readExpiry, readMoment, relativeText } from '../../../src/cli/outbox/times.ts'

const NOW = Date.parse('2026-03-14T12:00:00Z')

describe('a length of time', () => {
	test.each([
		['500ms', 500],
		['30s', 30_000],
		['5m', 300_000],
		['5min', 300_000],
		['1.5h', 5_400_000],
		['2 h', 7_200_000],
		['1d', 86_400_000],
		['0s', 0],
	])('%s is read', (text, ms) => {
		expect(readDuration('--max-lag', text)).toBe(ms)
	})

	test.each(['5', '', 'm', '-5m', '5 weeks', '5m5s', 'Infinityh', '1e3s'])(
		'%j is refused with what it takes',
		(text) => {
			expect(() => readDuration('--max-lag', text)).toThrow(
				`--max-lag: got '${text}'; takes a time such as 500ms, 30s, 5m, 2h or 1d`,
			)
		},
	)
})

test('a length of time below the least is refused in the words of who typed it', () => {
	expect(readDuration('--lease', '50ms', 50)).toBe(50)
	expect(() => readDuration('--lease', '10ms', 50)).toThrow(
		"--lease: got '10ms'; takes a time such as 500ms, 30s, 5m, 2h or 1d, at least 50ms",
	)
})

describe('an expiry', () => {
	test('is so long from now, a date to come, or never', () => {
		expect(readExpiry('--expires', '2h', NOW)).toEqual(new Date('2026-03-14T14:00:00Z'))
		expect(readExpiry('--expires', '2026-03-15', NOW)).toEqual(new Date('2026-03-15T00:00:00Z'))
		expect(readExpiry('--expires', 'never', NOW)).toBeNull()
	})

	test.each(['0s', '2026-03-14', '17', 'Never', '', '99999999999d'])('%j is none', (text) => {
		expect(() => readExpiry('--expires', text, NOW)).toThrow(
			`--expires: got '${text}'; takes never, a time such`,
		)
	})
})

describe('a moment', () => {
	test('is so long ago, or a date', () => {
		expect(readMoment('--since', '2h', NOW)).toEqual(new Date('2026-03-14T10:00:00Z'))
		expect(readMoment('--since', '2026-03-01', NOW)).toEqual(new Date('2026-03-01T00:00:00Z'))
		expect(readMoment('--since', '2026-03-01T09:30:00+01:00', NOW)).toEqual(new Date('2026-03-01T08:30:00Z'))
	})

	test.each(['17', 'yesterday', '2026-13-01', '2026'])('%j is neither', (text) => {
		expect(() => readMoment('--since', text, NOW)).toThrow(`--since: got '${text}'; takes a time such as`)
	})

	test('is told as people tell it', () => {
		expect(relativeText(new Date(NOW - 180_000), NOW)).toBe('3 min ago')
		expect(relativeText(new Date(NOW + 12_000), NOW)).toBe('in 12 s')
		expect(relativeText(undefined, NOW)).toBe('')
	})
})
