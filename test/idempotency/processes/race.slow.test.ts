/** Exactly once under concurrency: four server processes, 200 requests with one key at a time. RACE_ROUNDS sets the number of rounds. */
import { describe, expect, test } from 'vitest'
import { HAS_REDIS } from '../../support/real-redis.ts'
import { DATABASES } from './databases.ts'
import { runRaces } from './race.ts'

const ROUNDS = Number(process.env['RACE_ROUNDS'] ?? 50)

describe.each(['PostgreSQL', 'Redis'] as const)('%s', (kind) => {
	test.skipIf(kind === 'Redis' && !HAS_REDIS)(
		'runs the handler once for 200 concurrent requests with one key on four servers',
		async () => {
			await using database = await DATABASES[kind]()
			const totals = await runRaces(database.address, { rounds: ROUNDS, requests: 200, servers: 4 })
			expect(totals.findings).toEqual([])
			expect(totals).toMatchObject({ rounds: ROUNDS, requests: ROUNDS * 200 })
			// Otherwise nothing was concurrent.
			expect(totals.conflicts).toBeGreaterThan(0)
		},
		120_000 + ROUNDS * 5_000,
	)
})
