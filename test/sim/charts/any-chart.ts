/** Arbitrary charts for property tests. */
import fc from 'fast-check'
import type { Series, TimeChart } from '../../../src/sim/charts/chart-data.ts'
import { isXmlCharacter } from './xml.ts'

/** Names as users choose them, and as they should not. */
export const anyName: fc.Arbitrary<string> = fc.oneof(
	fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
	fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
	fc.constantFrom('<b>&amp;"\'', ']]>', '\x1b[31mred', 'a\0b\uFFFE\uD800', '全ジッター', 'x'.repeat(200)),
)

const anyValue: fc.Arbitrary<number | null> = fc.oneof(
	fc.double({ min: -1e15, max: 1e15, noNaN: true }),
	fc.double({ min: 0, max: 5_000, noNaN: true }),
	fc.constantFrom(null, 0, Number.NaN),
)

interface Kind {
	readonly name: fc.Arbitrary<string>
	readonly isStack: boolean
}

export function anyChart({ name, isStack }: Kind): fc.Arbitrary<TimeChart> {
	const values = isStack ? anyValue.map((value) => (value === null ? null : Math.abs(value))) : anyValue
	const time = fc.integer({ min: -1e6, max: 1e6 }).map((ms) => ms / 1_000)
	return fc.uniqueArray(time, { maxLength: 12 }).chain((unsorted) => {
		const x = unsorted.toSorted((a, b) => a - b)
		const list = fc.array(values, { minLength: x.length, maxLength: x.length })
		const range = fc.option(fc.record({ low: list, high: list }), { nil: undefined })
		const series: fc.Arbitrary<Series> = isStack
			? fc.record({ name, values: list })
			: fc.record({ name, values: list, range })
		const reference = fc.record({ value: fc.double({ min: 0, max: 1e6, noNaN: true }), label: name })
		const fault = fc.tuple(time, fc.oneof(time, fc.constant(Infinity)), name)
		const faults = fc.array(
			fault.map(([one, other, label]) => ({ from: Math.min(one, other), to: Math.max(one, other), label })),
			{ maxLength: 3 },
		)
		const panel = fc.record({
			title: fc.oneof(name, fc.constant('')),
			series: fc.array(series, { maxLength: 8 }),
			references: fc.array(reference, { maxLength: 2 }),
			faults: fc.option(faults, { nil: undefined }),
		})
		return fc.record({
			title: name,
			subtitle: name,
			x: fc.constant(x),
			xLabel: name,
			yLabel: fc.option(name, { nil: undefined }),
			rangeLabel: fc.option(name, { nil: undefined }),
			subject: fc.option(name, { nil: undefined }),
			faults,
			panels: fc.array(panel, { maxLength: 4 }),
			scale: fc.constantFrom('common' as const, 'own' as const),
		})
	})
}

/** Returns a name as XML can express it. */
export const inXml = (name: string): string =>
	Array.from(name, (character) => (isXmlCharacter(character) ? character : '\uFFFD')).join('')
