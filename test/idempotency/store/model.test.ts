import { test } from 'vitest'
import { compareStores } from './model.ts'
import { openMemory } from './open-memory.ts'
import { openSqlite } from './open-sqlite.ts'

const openModel = () => {
	const { advance, ...opened } = openMemory()
	return { ...opened, advance: (ms: number) => advance?.(ms) }
}

test('SQLite returns what the store in memory returns, for random operations', () =>
	compareStores(openModel, () => openSqlite(':memory:'), 60))
