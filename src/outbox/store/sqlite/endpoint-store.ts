/** Endpoints and events of webhooks in an SQLite file: which operation reads, which writes, and which can run on the user's connection. */
import type { Queryable, SqliteClient } from '../../../sql/clients.ts'
import { type RunStatement, runOn } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { hasFailures } from '../decisions/endpoint.ts'
import type { EndpointStore } from '../endpoint-store.ts'
import { endpointOperations, matchingBy } from './endpoints.ts'
import { eventOperations, insertEventBy } from './events.ts'
import type { SqliteExecutor } from './executor.ts'

/** The actions complete "Cannot ..." in errors. */
const READS = {
	find: 'find an endpoint',
	list: 'list endpoints',
	stats: 'count endpoints',
	events: 'list events',
} as const

const WRITES = {
	insert: 'create an endpoint',
	change: 'change an endpoint',
	delete: 'delete an endpoint',
	recordFailure: 'record a failure of an endpoint',
	recordSuccess: 'record a success of an endpoint',
	dropEvents: 'delete events',
} as const

const MATCH = 'find the endpoints of an event'
const STORE = 'store an event'

type Bound = Pick<EndpointStore, keyof typeof READS | keyof typeof WRITES>

/** Runs `work` on the user's connection, and explains its errors. */
type OnUserConnection = <T>(tx: Queryable, action: string, work: (tx: SqliteClient) => T) => T

/** `userNow`: the time of a row that the user's connection writes. */
export function endpointStore(
	connection: SqliteConnection,
	executor: SqliteExecutor,
	onUserConnection: OnUserConnection,
	userNow: () => number,
): EndpointStore {
	const operations = { ...endpointOperations(connection), ...eventOperations(connection) }
	const bound = executor.bind<Bound>(operations, READS, WRITES)
	const run: RunStatement = (sql, ...params) => connection.rows(sql, ...params)
	return {
		...bound,
		/** Most successes follow a success, so that nothing is written. */
		async recordSuccess(id) {
			const endpoint = await bound.find(id)
			return endpoint && hasFailures(endpoint) ? bound.recordSuccess(id) : undefined
		},
		matching: (tenant, topics, tx) =>
			tx === undefined
				? executor.run('read', MATCH, () => matchingBy(run, tenant, topics))
				: onUserConnection(tx, `${MATCH} in your transaction`, (user) =>
						matchingBy(runOn(user), tenant, topics),
					),
		insertEvent: (event, tx) =>
			tx === undefined
				? executor.run('write', STORE, () => insertEventBy(run, event, connection.now()))
				: onUserConnection(tx, `${STORE} in your transaction`, (user) =>
						insertEventBy(runOn(user), event, userNow()),
					),
	}
}
