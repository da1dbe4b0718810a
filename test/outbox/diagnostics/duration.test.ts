import { expect, it } from 'vitest'
import { formatDuration } from '../../../src/outbox/diagnostics/duration.ts'

it.each([
	[-5, '0 ms'],
	[0, '0 ms'],
	[999.4, '999 ms'],
	[1_000, '1 s'],
	[12_345, '12 s'],
	[90_000, '90 s'],
	[120_000, '2 min'],
	[7_199_000, '120 min'],
	[7_200_000, '2 h'],
	[172_800_000, '2 d'],
])('%d ms are said as %s', (ms, text) => {
	expect(formatDuration(ms)).toBe(text)
})
