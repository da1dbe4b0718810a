/** Compiles and runs every `ts` block of the README and of docs/. A `text` block below one is its output. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { seededRandom } from 'yaoki/testing'
import { tsc } from '../../scripts/tools.ts'
import { documentedTypes } from './documented-types.ts'
import { type Block, blocks, pages, ROOT } from './markdown.ts'
import { network } from './network.ts'
import { fileName, moduleOf } from './snippets.ts'

const snippets = pages()
	.flatMap(blocks)
	.filter(({ language }) => language === 'ts')

describe('the examples in the documentation', () => {
	// Inside the repository, so that imports of packages resolve. Git ignores it.
	const cache = join(ROOT, '.cache')
	mkdirSync(cache, { recursive: true })
	const folder = mkdtempSync(join(cache, 'docs-'))
	const fileOf = (block: Block): string => join(folder, fileName(block))

	beforeAll(() => {
		for (const block of snippets) {
			writeFileSync(fileOf(block), moduleOf(block, 'checked'))
			writeFileSync(join(folder, `verbatim-${fileName(block)}`), moduleOf(block, 'verbatim'))
		}
		writeFileSync(join(folder, 'documented-types.ts'), documentedTypes())
		const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
		const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }
		writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
	})
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	test('exist', () => {
		expect(snippets.length).toBeGreaterThan(20)
	})

	test('compile, and the tables name exactly the members of their types', { timeout: 60_000 }, () => {
		expect(tsc('-p', folder).output).toBe('')
	})

	test.each(snippets.map((block) => [block.place, block] as const))('%s runs', async (_, block) => {
		const { default: run } = (await import(fileOf(block))) as { default: () => Promise<void> }
		const printed: string[] = []
		vi.spyOn(console, 'log').mockImplementation((...parts: unknown[]) => {
			printed.push(parts.map(String).join(' '))
		})
		// Delays end immediately, and random numbers are the same in every run.
		vi.useFakeTimers().setTimerTickMode('nextTimerAsync')
		vi.spyOn(Math, 'random').mockImplementation(seededRandom(1))
		vi.stubGlobal('fetch', network())
		try {
			await run()
		} finally {
			vi.useRealTimers()
			vi.unstubAllGlobals()
		}
		if (block.prints !== undefined) expect(`${printed.join('\n')}\n`).toBe(block.prints)
	})
})
