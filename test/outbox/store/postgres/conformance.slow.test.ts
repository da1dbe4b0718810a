import { expect, test } from 'vitest'
import { endpointStoreConformance, outboxStoreConformance } from '../../../../src/outbox/testing/index.ts'
import { postgresPool } from '../../../support/postgres-pool.ts'
import { openOnPool } from './opened.ts'

const postgres = postgresPool()

const open = () => openOnPool(postgres.pool, 'reused')
for (const { name, run } of [...outboxStoreConformance(open), ...endpointStoreConformance(open)])
	test(name, async () => {
		await expect(run()).resolves.toBeUndefined()
	})
