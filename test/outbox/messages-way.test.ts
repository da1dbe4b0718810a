/** Decision 0048 names the files of a message's way. They are at most 24, and all exist. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = new URL('../../docs/decisions/0048-a-messages-way.md', import.meta.url)
const source = new URL('../../src/outbox/', import.meta.url)

/** Returns the first cells of the tables of a section whose header is `file`. */
function filesOf(section: string): { readonly inOrder: readonly string[]; readonly off: readonly string[] } {
	const rows = section.split('\n').filter((line) => line.startsWith('| '))
	const cells = rows.map((line) => line.split('|').map((cell) => cell.trim()))
	const inOrder = cells.filter(([, number]) => Number(number) > 0).map(([, , file]) => String(file))
	const off = cells
		.filter(([, file]) => file?.includes('.ts'))
		.flatMap(([, file]) => String(file).split(', '))
	return { inOrder, off }
}

const [, toRow = '', relay = ''] = readFileSync(page, 'utf8').split('\n## ')
const sections = [
	{ name: 'from enqueue to the row', section: toRow, folder: source },
	{ name: 'from the claim to the settlement', section: relay, folder: new URL('relay/', source) },
]

test.each(sections)('the way $name has 12 files, which exist', ({ section, folder }) => {
	const { inOrder, off } = filesOf(section)
	expect(new Set(inOrder).size).toBe(12)
	expect(off.length).toBeGreaterThan(0)
	const paths = [...inOrder, ...off]
	expect(paths.filter((path) => !existsSync(new URL(path, folder)))).toEqual([])
})
