import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkVocabulary } from '../../scripts/vocabulary.ts'

const root = mkdtempSync(join(tmpdir(), 'yaoki-vocabulary-'))
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('reports expressions with file, line and replacement, and honors exceptions', () => {
	writeFileSync(
		join(root, 'a.md'),
		'fine\nIt is whispered twice.\nA ring whispered in a song.\nThe whispereda word.\n',
	)
	const vocabulary = { expressions: { 'whispered|whispers': 'report' }, files: ['a.md'] }
	expect(checkVocabulary(root, { ...vocabulary, exceptions: {} })).toEqual([
		'a.md:2: "whispered" (say: report)',
		'a.md:3: "whispered" (say: report)',
	])
	const exceptions = { 'a.md': ['A ring whispered in a song.', 'Gone.'] }
	expect(checkVocabulary(root, { ...vocabulary, exceptions })).toEqual([
		'a.md:2: "whispered" (say: report)',
		'a.md: exception that no longer occurs: Gone.',
	])
})
