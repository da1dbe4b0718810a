import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDictionary, parseList } from '../../../src/http/headers/structured-fields.ts'

/** The items without their maps: `[value, { parameter: value }]`. */
const plain = (text: string) =>
	parseList(text)?.map(({ value, parameters }) => [value, Object.fromEntries(parameters)])

describe('a list of items', () => {
	it.each([
		['"default";r=50;t=30', [['default', { r: 50, t: 30 }]]],
		['"a"; r=1;  t=2', [['a', { r: 1, t: 2 }]]],
		[
			'"a";r=1 \t,\t "b";r=2',
			[
				['a', { r: 1 }],
				['b', { r: 2 }],
			],
		],
		['  "a"  ', [['a', {}]]],
		[
			'a, b*c/d:e',
			[
				['a', {}],
				['b*c/d:e', {}],
			],
		],
		['100;w=60', [[100, { w: 60 }]]],
		[
			'-0, -7',
			[
				[0, {}],
				[-7, {}],
			],
		],
		['"with \\"quotes\\" and \\\\"', [['with "quotes" and \\', {}]]],
		['"comma, semicolon; equals="', [['comma, semicolon; equals=', {}]]],
		['""', [['', {}]]],
		['"a";r=1;r=2', [['a', { r: 2 }]]],
		['"a";flag;r=1', [['a', { flag: undefined, r: 1 }]]],
		['"a";pk=:c2VjcmV0:;r=1', [['a', { pk: undefined, r: 1 }]]],
		[
			'"a";x=1.5;y=?1;z=@1659578233;d=%"f%c3%bc"',
			[['a', { x: undefined, y: undefined, z: undefined, d: undefined }]],
		],
		['999999999999999', [[999_999_999_999_999, {}]]],
	])('is read: %s', (text, expected) => {
		expect(plain(text)).toEqual(expected)
	})

	it.each([
		'',
		' ',
		',',
		'"a",',
		'"a",,"b"',
		'"a" "b"',
		'"a";',
		'"a";=1',
		'"a";R=1',
		'"a";r=',
		'"a";r =1',
		'"a";r= 1',
		'"a" ;r=1',
		'"a',
		'"a\\x"',
		'"é"',
		'"a\tb"',
		'1000000000000000',
		'1.2345',
		'1.',
		'--1',
		'?2',
		':not bytes:',
		'("a" "b")',
		'limit=100',
		'%"%C3"',
	])('is rejected as a whole: %j', (text) => {
		expect(parseList(text)).toBeUndefined()
	})

	it('never throws, whatever the text', () => {
		const piece = fc.oneof(
			fc.string(),
			fc.constantFrom('"', '\\', ';', '=', ',', ' ', '\t', 'r=1', '"a"', ':', '%"', '?1'),
		)
		fc.assert(
			fc.property(fc.array(piece), (pieces) => {
				const text = pieces.join('')
				expect([parseList(text), parseDictionary(text)].every((answer) => answer?.length !== 0)).toBe(true)
			}),
		)
	})

	it('reads back what was written, with any names', () => {
		const name = fc.string({ unit: 'binary-ascii' }).filter((text) => /^[ -~]*$/.test(text))
		const amount = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 })
		fc.assert(
			fc.property(fc.array(fc.tuple(name, amount), { minLength: 1 }), (pairs) => {
				const text = pairs.map(([key, r]) => `"${key.replace(/["\\]/g, '\\$&')}";r=${r}`)
				expect(plain(text.join(', '))).toEqual(pairs.map(([key, r]) => [key, { r: r + 0 }]))
			}),
		)
	})
})

describe('a dictionary', () => {
	it('is read with its keys', () => {
		const fields = parseDictionary('limit=100, remaining=50;x=1,reset=5')
		expect(fields?.map(({ key, value }) => [key, value])).toEqual([
			['limit', 100],
			['remaining', 50],
			['reset', 5],
		])
	})

	it.each(['', '100', '"a";r=1', 'limit=100, 50', 'limit=', 'limit = 100', 'Limit=100'])(
		'is rejected: %j',
		(text) => {
			expect(parseDictionary(text)).toBeUndefined()
		},
	)
})
