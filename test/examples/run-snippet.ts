/** Runs an example of the documentation. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { seededRandom } from 'yaoki/testing'
import { type Block, blocks, PAGES_WITH_PACKAGES, pages, ROOT } from './markdown.ts'
import { network } from './network.ts'
import { namedFindings, recordedFindings } from './recorder.ts'
import { fileName, moduleOf } from './snippets.ts'

/** Every `ts` block of the README and of docs/, except for pages that need packages of their own and for files of examples, which examples.slow.test.ts runs. */
export const snippets: readonly Block[] = pages()
	.filter(({ path }) => !PAGES_WITH_PACKAGES.includes(path))
	.flatMap(blocks)
	.filter(({ language, file }) => language === 'ts' && file === undefined)

/** Returns true if the example connects to a PostgreSQL server. */
export const needsPostgres = ({ code }: Block): boolean => code.includes("from 'pg'")

/** Returns true if the example is a file of tests. `npm run blocks` runs it. */
export const isTestFile = ({ code }: Block): boolean => /from '(?:vitest|node:test)'/.test(code)

/** Returns true if the example starts a server or connects to PostgreSQL. Real sockets need real time. */
const usesSockets = (block: Block): boolean => /listen\(|bindAsync\(/.test(block.code) || needsPostgres(block)

/** Creates a folder for modules inside the repository, so that imports of packages resolve. Git ignores it. */
export function createFolder(): string {
	const cache = join(ROOT, '.cache')
	mkdirSync(cache, { recursive: true })
	return mkdtempSync(join(cache, 'docs-'))
}

/** Writes the example as a module and returns its path. */
export function writeSnippet(folder: string, block: Block): string {
	const file = join(folder, fileName(block))
	writeFileSync(file, moduleOf(block, 'checked'))
	return file
}

/** Returns true if the example shows mistakes, or what `lint` says about them. */
const showsFindings = ({ code }: Block): boolean => code.includes('// Bad') || code.includes('lint(')

/** True in what an example runs. Test files share a process, and a timer that another one has left may draw random numbers too. */
const inExample = new AsyncLocalStorage<true>()

const systemRandom = Math.random

export const runSnippet = (file: string, block: Block): Promise<void> =>
	inExample.run(true, () => runExample(file, block))

/**
 * Runs the module of an example. Compares what it prints with the `text` block below it, and what `lint` finds in its policies with the codes that
 * it names.
 */
async function runExample(file: string, block: Block): Promise<void> {
	const { default: run } = (await import(file)) as { default: () => Promise<void> }
	const printed: string[] = []
	vi.spyOn(console, 'log').mockImplementation((...parts: unknown[]) => {
		printed.push(parts.map(String).join(' '))
	})
	// Delays end immediately, and random numbers are the same in every run.
	if (!usesSockets(block)) vi.useFakeTimers().setTimerTickMode('nextTimerAsync')
	const seeded = seededRandom(1)
	vi.spyOn(Math, 'random').mockImplementation(() => (inExample.getStore() ? seeded() : systemRandom()))
	vi.stubGlobal('fetch', network())
	recordedFindings()
	try {
		await run()
	} finally {
		vi.useRealTimers()
		vi.unstubAllGlobals()
	}
	if (block.prints !== undefined) expect(`${printed.join('\n')}\n`).toBe(block.prints)
	const found = recordedFindings()
	if (!showsFindings(block)) expect(found).toEqual(namedFindings(block.code))
}
