/** A store and a queue in an array return the same after every move. */
import { describe, expect, test } from 'vitest'
import { storeModel } from './model.ts'
import { openSqliteFile, openSqliteMemory } from './open-sqlite.ts'

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)

describe('SQLite in memory agrees with a queue in an array', () => {
	test.each(SEEDS)('seed %i', async (seed) => {
		await expect(storeModel(openSqliteMemory, seed)).resolves.toBeUndefined()
	})
})

describe('SQLite in a file agrees with a queue in an array', () => {
	test.each(SEEDS.slice(0, 8))('seed %i', async (seed) => {
		await expect(storeModel(openSqliteFile, seed)).resolves.toBeUndefined()
	})
})
