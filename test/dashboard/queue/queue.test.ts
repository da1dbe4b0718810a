/** On SQLite. queue.slow.test.ts runs the same on PostgreSQL. */
import { openSqliteMemory } from '../../outbox/store/open-sqlite.ts'
import { queueSuite } from './suite.ts'

queueSuite(openSqliteMemory)
