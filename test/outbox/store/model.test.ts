/** A store and a queue in an array return the same after every move. model.slow.test.ts runs more sequences. */
import { expect, test } from 'vitest'
import { storeModel } from './model.ts'
import { openSqliteMemory } from './open-sqlite.ts'

const SEEDS = Array.from({ length: 8 }, (_, seed) => seed)

test.each(SEEDS)('SQLite in memory agrees with a queue in an array, seed %i', async (seed) => {
	await expect(storeModel(openSqliteMemory, seed)).resolves.toBeUndefined()
})
