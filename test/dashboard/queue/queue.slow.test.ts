/** On a real PostgreSQL. */
import { openOnPool } from '../../outbox/store/postgres/opened.ts'
import { postgresPool } from '../../support/postgres-pool.ts'
import { queueSuite } from './suite.ts'

const postgres = postgresPool()

queueSuite(() => openOnPool(postgres.pool))
