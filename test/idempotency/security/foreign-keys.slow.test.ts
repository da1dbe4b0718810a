import { describe, vi } from 'vitest'
import { postgresRig } from '../store/postgres/rig.ts'
import { foreignKeys } from './foreign-keys.ts'

describe('PostgreSQL, with the same statements', () => {
	const rig = postgresRig()
	foreignKeys(() => {
		const query = vi.spyOn(rig.pool, 'query')
		const statements = () => query.mock.calls.map(([sent]: readonly unknown[]) => textOf(sent))
		return { store: rig.store, advance: rig.advance, statements }
	})
})

const textOf = (sent: unknown): unknown => (typeof sent === 'string' ? sent : Object(sent).text)
