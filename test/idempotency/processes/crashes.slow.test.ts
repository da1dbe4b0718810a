/** kill -9 of servers in the middle of requests. CRASH_ROUNDS sets the number of kills on each store; by default there are 200 on all of them. */
import { describe, expect, test } from 'vitest'
import { HAS_REDIS } from '../../support/real-redis.ts'
import { runCrashes } from './crashes.ts'
import { DATABASES } from './databases.ts'
import type { StoreAddress } from './open-store.ts'

const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 68)

describe.each(Object.keys(DATABASES) as StoreAddress['kind'][])('%s', (kind) => {
	test.skipIf(kind === 'Redis' && !HAS_REDIS)(
		'every order of a killed server gets one response, no stored step runs again, and no key stays locked',
		async () => {
			await using database = await DATABASES[kind]()
			const totals = await runCrashes(database.address, {
				rounds: ROUNDS,
				lanes: 4,
				seed: 'ci',
				areApart: true,
			})
			expect(totals.findings).toEqual([])
			expect(totals).toMatchObject({ rounds: ROUNDS, kills: ROUNDS })
			// Otherwise no server was killed while it held a key.
			expect(totals.conflicts).toBeGreaterThan(0)
		},
		120_000 + ROUNDS * 5_000,
	)

	test.skipIf(kind === 'Redis' && !HAS_REDIS)(
		'every order of a killed server runs again immediately on the same machine',
		async () => {
			await using database = await DATABASES[kind]()
			const rounds = Math.ceil(ROUNDS / 3)
			const options = { rounds, lanes: 4, seed: 'one-machine', areApart: false }
			const totals = await runCrashes(database.address, options)
			expect(totals).toEqual({ rounds, kills: rounds, conflicts: 0, findings: [] })
		},
		120_000 + ROUNDS * 5_000,
	)
})
