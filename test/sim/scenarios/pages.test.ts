/** Numbers in the prose of the pages are also in their tables, which are compared with runs, or in their examples, which are run. */
import { expect, test } from 'vitest'
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

test.each(names)('%s: the page has the command, the chart and the table', (name) => {
	const { text } = page(`docs/scenarios/${name}.md`)
	expect(text).toContain(`\nnpx yaoki simulate ${name}\n`)
	expect(text).toMatch(new RegExp(`^!\\[[^\\]]+\\]\\(${name}\\.svg\\)$`, 'm'))
	expect(text).toMatch(/^\|---/m)
})
