/** Charts of any kind, for properties. */
import fc from 'fast-check'
import type { Panel, TimeChart } from '../../../src/sim/picture/chart.ts'
import { isXmlCharacter } from './xml.ts'

/** Names as people give them, and as nobody should. */
export const anyName: fc.Arbitrary<string> = fc.oneof(
	fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
	fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
	fc.constantFrom('<b>&amp;"\'', ']]>', '\x1b[31mred', 'a\0b\uFFFE\uD800', '全ジッター', 'x'.repeat(200)),
)

const anyValue: fc.Arbitrary<number | null> = fc.oneof(
	fc.double(),
	fc.double({ min: 0, max: 5_000 }),
	fc.constantFrom(null, 0, Number.NaN, Infinity, -Infinity, 1e308, -1e308, 5e-324),
)

const amount: fc.Arbitrary<number | null> = anyValue.map((value) => (value === null ? null : Math.abs(value)))

interface Kind {
	readonly values: fc.Arbitrary<number | null>
	readonly hasBands: boolean
}

function chartOf({ values, hasBands }: Kind): fc.Arbitrary<TimeChart> {
	return fc
		.uniqueArray(fc.double({ min: -1e6, max: 1e6, noNaN: true }), {
			maxLength: 12,
			comparator: 'IsStrictlyEqual',
		})
		.chain((unsorted) => {
			// Zero and minus zero are the same place.
			const x = unsorted.map((value) => value + 0).toSorted((a, b) => a - b)
			const distinct = x.filter((value, index) => value !== x[index - 1])
			const list = fc.array(values, { minLength: distinct.length, maxLength: distinct.length })
			const bare = { name: anyName, values: list }
			const banded = { ...bare, band: fc.option(fc.record({ low: list, high: list }), { nil: undefined }) }
			const series = hasBands ? fc.record(banded) : fc.record(bare)
			const line = fc.record({ value: fc.double({ noNaN: true, noDefaultInfinity: true }), label: anyName })
			const frame = {
				title: anyName,
				subtitle: fc.option(anyName, { nil: undefined }),
				x: fc.constant(distinct),
				yLabel: fc.option(anyName, { nil: undefined }),
				xLabel: fc.option(anyName, { nil: undefined }),
				bandLabel: fc.option(anyName, { nil: undefined }),
				lines: fc.array(line, { maxLength: 2 }),
				shades: fc.array(
					fc
						.tuple(fc.double({ noNaN: true }), fc.double({ noNaN: true }), anyName)
						.map(([one, other, label]) => ({
							from: Math.min(one, other),
							to: Math.max(one, other),
							label,
						})),
					{ maxLength: 3 },
				),
				scale: fc.constantFrom('common' as const, 'own' as const),
			}
			const all = fc.array(series, { maxLength: 8 })
			const panel: fc.Arbitrary<Panel> = fc.record({
				title: fc.option(anyName, { nil: undefined }),
				series: fc.array(series, { maxLength: 3 }),
				lines: fc.array(line, { maxLength: 1 }),
			})
			return fc.oneof(
				fc.record({ ...frame, series: all }),
				fc.record({ ...frame, panels: fc.array(panel, { maxLength: 4 }) }),
			)
		})
}

export const anyLineChart: fc.Arbitrary<TimeChart> = chartOf({ values: anyValue, hasBands: true })
export const anyStack: fc.Arbitrary<TimeChart> = chartOf({ values: amount, hasBands: false })

/** A name as XML can hold it. */
export const inXml = (name: string): string =>
	Array.from(name, (character) => (isXmlCharacter(character) ? character : '\uFFFD')).join('')
