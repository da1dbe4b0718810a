import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { literal } from '../../../src/sim/scenario/source.ts'

describe('data as TypeScript', () => {
	test('evaluates to the same data', () => {
		const number = fc
			.oneof(fc.double({ noNaN: true }), fc.integer(), fc.constantFrom(Infinity, 1_234.5))
			.filter((value) => !Object.is(value, -0))
		const data = fc.object({
			key: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('a', '__proto__', "it's")),
			values: [number, fc.string(), fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null)],
			withNullPrototype: false,
		})
		fc.assert(
			fc.property(data, (value) => {
				const read: unknown = new Function(`return (${literal(value)})`)()
				expect(read).toEqual(value)
			}),
		)
	})

	test('evaluates to the same text with line separators (regression: indentation was inserted after them)', () => {
		const value = { long: 'x'.repeat(80), lines: 'a\u2028b\u2029c\nd' }
		expect(new Function(`return (${literal({ value })})`)()).toEqual({ value })
	})

	test('is formatted like hand-written code', () => {
		expect(
			literal({ durationMs: 120_000, names: ['a', "it's"], 'not-a-name': -1_234.5, left: undefined }),
		).toBe(`{ durationMs: 120_000, names: ['a', 'it\\'s'], 'not-a-name': -1_234.5 }`)
		expect(literal([0.0001, 999, 1_000, 123_456.789_01, 1e21, Infinity])).toBe(
			'[0.0001, 999, 1_000, 123_456.78901, 1e+21, Infinity]',
		)
	})

	test('is broken into lines if too long, except lists of numbers', () => {
		const many = Array.from({ length: 40 }, () => 15_000)
		const lines = literal({
			clients: { one: { to: 'a', arrivals: { kind: 'trace', atMs: many } } },
			none: {},
		})
		expect(lines.split('\n')).toEqual([
			'{',
			'  clients: {',
			'    one: {',
			"      to: 'a',",
			'      arrivals: {',
			"        kind: 'trace',",
			`        atMs: [${many.map(() => '15_000').join(', ')}],`,
			'      },',
			'    },',
			'  },',
			'  none: {},',
			'}',
		])
	})
})
