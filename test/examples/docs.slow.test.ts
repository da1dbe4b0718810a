/** Runs the examples of the documentation that take seconds. docs.test.ts compiles them. */
import { rmSync } from 'node:fs'
import { afterAll, describe, test } from 'vitest'
import { createFolder, isSlow, runSnippet, snippets, writeSnippet } from './run-snippet.ts'

describe('the slow examples in the documentation', () => {
	const folder = createFolder()
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	const slow = snippets.filter(isSlow)
	test.each(slow.map((block) => [block.place, block] as const))('%s runs', (_, block) =>
		runSnippet(writeSnippet(folder, block), block),
	)
})
