import { expect, test } from 'vitest'
import { outboxStoreConformance } from '../../../../src/outbox/testing/index.ts'
import { postgresPool } from '../../../support/postgres-pool.ts'
import { openOnPool } from './opened.ts'

const postgres = postgresPool()

for (const { name, run } of outboxStoreConformance(() => openOnPool(postgres.pool)))
	test(name, async () => {
		await expect(run()).resolves.toBeUndefined()
	})
