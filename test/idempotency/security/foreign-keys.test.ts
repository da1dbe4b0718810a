import { describe, onTestFinished } from 'vitest'
import { openMemory } from '../store/open-memory.ts'
import { openSqlite } from '../store/open-sqlite.ts'
import { foreignKeys } from './foreign-keys.ts'

describe('memory', () => {
	foreignKeys(() => {
		const { store, advance = () => {} } = openMemory()
		return { store, advance }
	})
})

describe('SQLite', () => {
	foreignKeys(async () => {
		const { store, advance } = await openSqlite(':memory:')
		onTestFinished(() => store.close())
		return { store, advance }
	})
})
