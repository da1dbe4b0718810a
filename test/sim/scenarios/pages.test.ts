/** What the pages say in their sentences is either in their tables, which are compared with runs, or in their examples, which are run. */
import { expect, test } from 'vitest'
import { scenarios } from '../../../src/sim/scenarios/catalog.ts'
import { page } from '../../examples/markdown.ts'

/** These two have figures of another kind, and tests of their own. */
const OTHERS = ['aws', 'metastable']
const names = Object.keys(scenarios).filter((name) => !OTHERS.includes(name))

const numbersOf = (text: string): readonly number[] =>
	[...text.matchAll(/(?<![\w.])\d[\d,_]*(?:\.\d+)?/g)].map(([written]) =>
		Number(written.replaceAll(/[,_]/g, '')),
	)

/** The sentences, and everything else. */
function parts(text: string): { readonly prose: string; readonly shown: string } {
	const shown: string[] = []
	const prose = text
		.replaceAll(/^```.*?^```$/gms, (block) => String(shown.push(block)).slice(0, 0))
		.replaceAll(/^\|.*$/gm, (row) => String(shown.push(row)).slice(0, 0))
	return { prose, shown: shown.join('\n') }
}

test.each(names)('%s: no number stands in a sentence that is not in a table or an example', (name) => {
	const { prose, shown } = parts(page(`docs/scenarios/${name}.md`).text)
	const known = numbersOf(shown)
	// Examples count in milliseconds and in shares, sentences also in seconds and per cent.
	const stray = numbersOf(prose).filter(
		(number) => ![number, number * 1_000, number / 100].some((same) => known.includes(same)),
	)
	expect(stray).toEqual([])
})

test.each(names)('%s: the page has the command, the picture and the figures', (name) => {
	const { text } = page(`docs/scenarios/${name}.md`)
	expect(text).toContain(`\nnpx yaoki simulate ${name}\n`)
	expect(text).toMatch(new RegExp(`^!\\[[^\\]]+\\]\\(${name}\\.svg\\)$`, 'm'))
	expect(text).toMatch(/^\|---/m)
})
