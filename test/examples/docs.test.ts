/** Compiles and runs every `ts` block of the README and of docs/, and the examples in doc comments. A `text` block below one is its output. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tsc } from '../../scripts/tools.ts'
import { docExamples } from './doc-comments.ts'
import { documentedTypes } from './documented-types.ts'
import { createFolder, isTestFile, needsSeconds, runSnippet, snippets, writeSnippet } from './run-snippet.ts'
import { fileName, moduleOf } from './snippets.ts'

const inComments = await docExamples()

describe('the examples in the documentation', () => {
	const folder = createFolder()

	beforeAll(() => {
		for (const block of snippets) {
			writeSnippet(folder, block)
			writeFileSync(join(folder, `verbatim-${fileName(block)}`), moduleOf(block, 'verbatim'))
		}
		for (const example of inComments) writeFileSync(join(folder, fileName(example)), example.module)
		writeFileSync(join(folder, 'documented-types.ts'), documentedTypes())
		const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
		const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }
		writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
	})
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	test('exist', () => {
		expect(snippets.length).toBeGreaterThan(20)
		expect(inComments.length).toBeGreaterThan(100)
	})

	test('compile, and the tables name exactly the members of their types', () => {
		expect(tsc('-p', folder).output).toBe('')
	})

	const fast = snippets.filter((block) => !needsSeconds(block) && !isTestFile(block))
	test.each(fast.map((block) => [block.place, block] as const))('%s runs', (_, block) =>
		runSnippet(join(folder, fileName(block)), block),
	)

	const checked = inComments.filter(({ hasChecks }) => hasChecks)
	test.each(checked.map((example) => [example.place, fileName(example)] as const))(
		'%s returns what it says',
		async (_, file) => (await import(join(folder, file))).default(),
	)
})
