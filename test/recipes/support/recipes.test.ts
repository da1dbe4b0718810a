import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tsc } from '../../../scripts/tools.ts'
import { HOME, recipes } from './recipes.ts'

describe('the recipes of the guide', () => {
	test('the recipes of the guide have a test each', () => {
		const names = recipes().map(({ name }) => name)
		expect(names.length).toBeGreaterThan(4)
		expect(names.filter((name) => !existsSync(join(HOME, `${name}.test.ts`)))).toEqual([])
	})

	test('compile with strict options', () => {
		expect(tsc('-p', HOME).output).toBe('')
	})
})
