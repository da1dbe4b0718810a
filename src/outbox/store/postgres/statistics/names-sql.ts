/** Common parts of the statements that count: the destinations, and how far each of them is counted. */
import { MAX_DESTINATIONS, MIN_LIMIT, TOTAL_FACTOR } from '../../counting.ts'

/** One more than are counted, to know whether there are more. */
const MAX_NAMES = MAX_DESTINATIONS + 1

const skipScan = (name: string, table: string): string => `
${name} as (
	(select destination from {s}.${table} order by destination limit 1)
	union all
	select (select o.destination from {s}.${table} o where o.destination > x.destination order by o.destination limit 1)
	from ${name} x where x.destination is not null
)`

export const ALL_NAMES: string = `${skipScan('queued', 'outbox')}, ${skipScan('died', 'outbox_dead')},
names as materialized (
	(select destination from queued where destination is not null limit ${MAX_NAMES})
	union (select destination from died where destination is not null limit ${MAX_NAMES})
	order by destination limit ${MAX_NAMES}
)`

export const ONE_NAME = 'names as materialized (select $2::text as destination)'

/** `limitPerDestination` in SQL, for the rows of `table`. */
export const shareSql = (limit: string, table: string): string =>
	`select least(${limit}, greatest(${MIN_LIMIT}, ${TOTAL_FACTOR} * ${limit}::bigint / greatest(1, count(*))))::int as rows from ${table}`

/** With {@link ALL_NAMES} or {@link ONE_NAME}; $1 is the limit. */
export const SHARE: string = `share as materialized (${shareSql('$1::int', `(select from names limit ${MAX_DESTINATIONS}) counted`)})`

export const NOW = '(select ms from n)'

/** When a message whose due time has moved was first due: the expression of the index. */
export const FIRST_DUE_AT = 'o.created_at + o.first_due_after_ms'
