import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findSegments } from '../../../../src/sim/incident/detect/change-points.ts'

const LEVELS = [0.005, 0.1, 0.3, 0.6, 0.998]

/** Bins as `failed/all`, separated by spaces. */
function segments(text: string): string[] {
	const bins = text.split(' ').map((bin) => bin.split('/').map(Number))
	const counts = {
		symptoms: Float64Array.from(bins, ([failed = 0]) => failed),
		attempts: Float64Array.from(bins, ([, all = 0]) => all),
	}
	return findSegments(counts, LEVELS).map(({ from, to, level }) => `${from}-${to}: ${LEVELS[level]}`)
}

describe('segments', () => {
	test('have the normal level without failures', () => {
		expect(segments('0/9 0/7 0/0 0/12')).toEqual(['0-4: 0.005'])
	})

	test('ignore one or two failures', () => {
		expect(segments('0/9 1/9 0/9 2/9 0/9 0/9')).toEqual(['0-6: 0.005'])
	})

	test('are found with one call per bin', () => {
		expect(segments(`0/1 0/1 0/1 1/1 1/1 1/1 1/1 1/1${' 0/1'.repeat(12)}`)).toEqual([
			'0-3: 0.005',
			'3-8: 0.998',
			'8-20: 0.005',
		])
	})

	test('continue through bins without attempts', () => {
		expect(segments('0/9 0/9 5/5 0/0 0/0 1/1 0/0 0/0 1/1 0/0 0/9 0/9').slice(0, 2)).toEqual([
			'0-2: 0.005',
			'2-9: 0.998',
		])
	})

	test('are not split by fluctuations, however many calls there are', () => {
		expect(segments('0/9 290/900 310/1000 250/1000 340/1000 300/1000 0/9 0/9 0/9')).toEqual([
			'0-1: 0.005',
			'1-6: 0.3',
			'6-9: 0.005',
		])
	})

	test('cover every bin once, and neighbors differ in level', () => {
		const bin = fc.tuple(fc.nat(50), fc.nat(50)).map(([failed, more]) => `${failed}/${failed + more}`)
		fc.assert(
			fc.property(fc.array(bin, { minLength: 1, maxLength: 60 }), (bins) => {
				const all = segments(bins.join(' ')).map((text) => text.split(/[-:]/).map(Number))
				expect(all[0]?.[0]).toBe(0)
				expect(all.at(-1)?.[1]).toBe(bins.length)
				for (const [index, [from, , level]] of all.entries()) {
					const before = all[index - 1]
					if (!before) continue
					expect(from).toBe(before[1])
					expect(level).not.toBe(before[2])
				}
			}),
		)
	})
})
