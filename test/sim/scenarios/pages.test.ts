/**
 * Numbers in the prose of the pages are also in their tables, which are compared with runs, or in their examples, which are run. And every
 * setting of a study is on its page.
 */
import { expect, test } from 'vitest'
import { listCases } from '../../../src/sim/run/study.ts'
import { literal } from '../../../src/sim/scenario/source.ts'
import { scenarios } from '../../../src/sim/scenarios/catalog.ts'
import { page } from '../../examples/markdown.ts'

/** These two have their own tests. */
const OTHERS = ['aws', 'metastable']
const names = Object.keys(scenarios).filter((name) => !OTHERS.includes(name))

const numbersOf = (text: string): readonly number[] =>
	[...text.matchAll(/(?<![\w.])\d[\d,_]*(?:\.\d+)?/g)].map(([written]) =>
		Number(written.replaceAll(/[,_]/g, '')),
	)

/** Splits a page into prose and everything else. */
function parts(text: string): { readonly prose: string; readonly shown: string } {
	const shown: string[] = []
	const prose = text
		.replaceAll(/^```.*?^```$/gms, (block) => String(shown.push(block)).slice(0, 0))
		.replaceAll(/^\|.*$/gm, (row) => String(shown.push(row)).slice(0, 0))
		// Pages of decisions have numbers in their names.
		.replaceAll(/\]\([^)]*\)/g, ']')
	return { prose, shown: shown.join('\n') }
}

test.each(names)('%s: every number in the prose is in a table or an example', (name) => {
	const { prose, shown } = parts(page(`docs/scenarios/${name}.md`).text)
	const known = numbersOf(shown)
	// Examples use milliseconds and shares; prose also uses seconds and percent.
	const stray = numbersOf(prose).filter(
		(number) => ![number, number * 1_000, number / 100].some((same) => known.includes(same)),
	)
	expect(stray).toEqual([])
})

/** Returns every setting as code. Names and the steps of charts do not change a result; functions are shown as such. */
function settingsOf(value: unknown, key = ''): readonly string[] {
	if (typeof value === 'function' || value === undefined || ['name', 'stepMs'].includes(key)) return []
	if (Array.isArray(value)) return value.flatMap((item) => settingsOf(item, key))
	if (Object(value) !== value) return [`${key}: ${literal(value)}`]
	return Object.entries(value as object).flatMap(([name, item]) => settingsOf(item, name))
}

test.each(['aws', ...names])('%s: every setting of every variant is on the page', async (name) => {
	const shown = page(`docs/scenarios/${name}.md`).text.replaceAll(/\s+/g, ' ')
	const study = await scenarios[name]?.()
	const settings = study ? listCases(study).flatMap(({ scenario }) => settingsOf(scenario)) : []
	expect(settings.length).toBeGreaterThan(10)
	expect([...new Set(settings)].filter((setting) => !shown.includes(setting))).toEqual([])
})

test.each(names)('%s: the page has the command, the chart and the table', (name) => {
	const { text } = page(`docs/scenarios/${name}.md`)
	expect(text).toContain(`\nnpx yaoki simulate ${name}\n`)
	expect(text).toMatch(new RegExp(`^!\\[[^\\]]+\\]\\(${name}\\.svg\\)$`, 'm'))
	expect(text).toMatch(/^\|---/m)
})
