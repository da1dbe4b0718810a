/** Compiles and runs every `ts` block of the README and of docs/. A `text` block below one is its output. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tsc } from '../../scripts/tools.ts'
import { documentedTypes } from './documented-types.ts'
import { createFolder, isTestFile, needsSeconds, runSnippet, snippets, writeSnippet } from './run-snippet.ts'
import { fileName, moduleOf } from './snippets.ts'

describe('the examples in the documentation', () => {
	const folder = createFolder()

	beforeAll(() => {
		for (const block of snippets) {
			writeSnippet(folder, block)
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

	test('compile, and the tables name exactly the members of their types', () => {
		expect(tsc('-p', folder).output).toBe('')
	})

	const fast = snippets.filter((block) => !needsSeconds(block) && !isTestFile(block))
	test.each(fast.map((block) => [block.place, block] as const))('%s runs', (_, block) =>
		runSnippet(join(folder, fileName(block)), block),
	)
})
