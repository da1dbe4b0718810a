import { expect, test } from 'vitest'
import { aws } from '../../../src/sim/scenarios/aws.ts'
import { page } from '../../examples/markdown.ts'

/** The rows of the page: name, writes, published, difference, last answer, published, difference. */
const rows = page('docs/scenarios/aws.md')
	.text.split('\n')
	.filter((line) => /^\| \d+ clients, /.test(line))
	.map((line) => line.slice(2, -2).split(' | '))
const number = (text = ''): number => Number(text.replaceAll(/[,+]| SE/g, ''))

test('the page has every number of clients with every strategy', () => {
	expect(rows.map(([name]) => name)).toEqual(Object.keys(aws.variants))
	expect(rows).toHaveLength(20)
})

test('the page has the published figures of the study', () => {
	for (const [name = '', , writes, , , ms] of rows) {
		expect(number(writes)).toBeCloseTo(aws.reference?.[name]?.requests?.mean ?? Number.NaN, 0)
		expect(number(ms)).toBeCloseTo(aws.reference?.[name]?.lastResponseAtMs?.mean ?? Number.NaN, 0)
	}
})

test('no figure differs from the published one by 4 standard errors', () => {
	for (const row of rows)
		for (const difference of [row[3], row[6]]) expect(Math.abs(number(difference))).toBeLessThan(4)
})
