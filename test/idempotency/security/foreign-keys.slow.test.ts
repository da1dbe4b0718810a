import { describe, vi } from 'vitest'
import { setupPostgres } from '../store/postgres/setup.ts'
import { foreignKeys } from './foreign-keys.ts'

describe('PostgreSQL, with the same statements', () => {
	const database = setupPostgres()
	foreignKeys(() => {
		const query = vi.spyOn(database.pool, 'query')
		const statements = () => query.mock.calls.map(([sent]: readonly unknown[]) => textOf(sent))
		return { store: database.store, advance: database.advance, statements }
	})
})

const textOf = (sent: unknown): unknown => (typeof sent === 'string' ? sent : Object(sent).text)
