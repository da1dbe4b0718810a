import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findSegments } from '../../../src/sim/incident/change-points.ts'
import { GrowableArray } from '../../../src/sim/incident/growable-array.ts'
import { pairedBegins } from '../../../src/sim/incident/pairing.ts'

const LEVELS = [0.005, 0.1, 0.3, 0.6, 0.998]

/** Bins as `failed/all`, by a space. */
function found(text: string): string[] {
	const bins = text.split(' ').map((bin) => bin.split('/').map(Number))
	const shares = {
		symptoms: Float64Array.from(bins, ([failed = 0]) => failed),
		attempts: Float64Array.from(bins, ([, all = 0]) => all),
	}
	return findSegments(shares, LEVELS).map(({ from, to, level }) => `${from}-${to}: ${LEVELS[level]}`)
}

describe('levels', () => {
	test('are calm where nothing happens', () => {
		expect(found('0/9 0/7 0/0 0/12')).toEqual(['0-4: 0.005'])
	})

	test('are not changed by a failure or two', () => {
		expect(found('0/9 1/9 0/9 2/9 0/9 0/9')).toEqual(['0-6: 0.005'])
	})

	test('are found where there is one call a bin', () => {
		expect(found(`0/1 0/1 0/1 1/1 1/1 1/1 1/1 1/1${' 0/1'.repeat(12)}`)).toEqual([
			'0-3: 0.005',
			'3-8: 0.998',
			'8-20: 0.005',
		])
	})

	test('go on through bins without attempts, as behind an open breaker', () => {
		expect(found('0/9 0/9 5/5 0/0 0/0 1/1 0/0 0/0 1/1 0/0 0/9 0/9').slice(0, 2)).toEqual([
			'0-2: 0.005',
			'2-9: 0.998',
		])
	})

	test('are not torn apart by ripples, however many calls there are', () => {
		expect(found('0/9 290/900 310/1000 250/1000 340/1000 300/1000 0/9 0/9 0/9')).toEqual([
			'0-1: 0.005',
			'1-6: 0.3',
			'6-9: 0.005',
		])
	})

	test('cover all bins, each once, and never the same twice in a row', () => {
		const bin = fc.tuple(fc.nat(50), fc.nat(50)).map(([failed, more]) => `${failed}/${failed + more}`)
		fc.assert(
			fc.property(fc.array(bin, { minLength: 1, maxLength: 60 }), (bins) => {
				const segments = found(bins.join(' ')).map((text) => text.split(/[-:]/).map(Number))
				expect(segments[0]?.[0]).toBe(0)
				expect(segments.at(-1)?.[1]).toBe(bins.length)
				for (const [index, [from, , level]] of segments.entries()) {
					const before = segments[index - 1]
					if (!before) continue
					expect(from).toBe(before[1])
					expect(level).not.toBe(before[2])
				}
			}),
		)
	})
})

describe('begins of attempts of which only the end is known', () => {
	const numbers = (...values: readonly number[]) => {
		const all = new GrowableArray()
		for (const value of values) all.add(value)
		return all
	}
	const paired = (begins: readonly number[], known: readonly number[], ends: readonly number[]) =>
		Array.from(
			pairedBegins(
				{ begins: numbers(...begins), known: numbers(...known), knownMs: 500, longestMs: 500 },
				Float64Array.from(ends),
			),
		)

	test('are those that are left when timeouts have found theirs, in order', () => {
		expect(paired([300, 100, 200], [200], [350, 420])).toEqual([100, 300])
	})

	test('of a timeout that fired late are found as well', () => {
		expect(paired([100, 1_000], [115], [1_050])).toEqual([1_000])
	})

	test('that have no end are forgotten when nothing can take that long', () => {
		expect(paired([100, 2_000, 2_100], [], [2_050, 2_150])).toEqual([2_000, 2_100])
	})

	test('that are missing leave the end alone', () => {
		expect(paired([900], [], [400, 950])).toEqual([400, 900])
	})

	test('may seem to come a moment after their end, for clocks have a grain', () => {
		expect(paired([401], [], [400])).toEqual([400])
	})
})
