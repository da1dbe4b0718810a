import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { instrument, type Mutant } from '../../scripts/mutate/instrument.ts'
import { TARGETS } from '../../scripts/mutate/targets.ts'

const mutantsOf = (text: string): readonly string[] => {
	const mutants: Mutant[] = []
	instrument('sample.ts', text, mutants)
	return mutants.map(({ original, replacement }) => `${original} -> ${replacement}`)
}

describe('a module with mutants', () => {
	test('a module with mutants is valid if a chain of ?? contains a mutant with && (regression: no test reached a mutant of any folder)', () => {
		expect(mutantsOf('a ?? b ?? c')).toEqual(['a ?? b -> a && b', 'a ?? b ?? c -> (a ?? b) && c'])
	})

	test.each(Object.entries(TARGETS))(
		'a module with mutants is valid, and each file of %s has a mutant',
		(_, { sources }) => {
			for (const source of sources) {
				const path = fileURLToPath(new URL(`../../src/core/${source}`, import.meta.url))
				expect(mutantsOf(readFileSync(path, 'utf8')), source).not.toEqual([])
			}
		},
	)
})
