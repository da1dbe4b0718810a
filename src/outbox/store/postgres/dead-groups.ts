/**
 * Groups dead letters. An outage leaves a million of them with a few hundred causes, and people refresh the groups while
 * they repair it. So the groups are found by jumps from one to the next in an index, and each is counted in the index up
 * to a limit: grouping all rows took five times as long.
 */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { withNumbers } from '../../../sql/postgres-values.ts'
import { groupLimit, MAX_GROUPS } from '../counting.ts'
import type { DeadGroupRow, StoreFilter } from '../store.ts'
import { filterSql, Parameters } from './messages.ts'

type Group = Pick<DeadGroupRow, 'fingerprint' | 'cause' | 'destination'>

const GROUP = 'd.fingerprint, d.cause, d.destination'

const FIND = `
with recursive found as (
	(select ${GROUP} from {s}.outbox_dead d order by ${GROUP} limit 1)
	union all
	select next.fingerprint, next.cause, next.destination from found f cross join lateral (
		select ${GROUP} from {s}.outbox_dead d
		where (${GROUP}) > (f.fingerprint, f.cause, f.destination) order by ${GROUP} limit 1
	) next
)
select fingerprint, cause, destination from found limit ${MAX_GROUPS + 1}`

/** The conditions that the index of groups has. */
const JUMPED: readonly string[] = ['status', 'fingerprint', 'cause', 'destination', 'since', 'until']

const canJump = (filter: StoreFilter): boolean =>
	(filter.status ?? 'dead') === 'dead' && Object.keys(filter).every((name) => JUMPED.includes(name))

const isSelected = (group: Group, filter: StoreFilter): boolean =>
	(['fingerprint', 'cause', 'destination'] as const).every(
		(name) => (filter[name] ?? group[name]) === group[name],
	)

type Row = Omit<DeadGroupRow, 'isCapped'>

/** `grouped`: groups with their count and the `seq` of the dead letter that died first. */
const shownSql = (grouped: string, last: string, limit: string): string => `
select g.fingerprint, g.cause, g.destination, e.error_type as "errorType", e.error_message as "errorMessage", g.count,
	g.first_at as "firstAt", ${last} as "lastAt", e.id::text as "exampleId"
from (select * from (${grouped}) c order by count desc, seq limit ${limit}) g join {s}.outbox_dead e on e.seq = g.seq
order by g.count desc, g.seq`

function countedSql({ since, until }: StoreFilter, groups: readonly Group[], limit: number, rows: number) {
	const parameters = new Parameters()
	const given = parameters.add(JSON.stringify(groups), 'text')
	const times = filterSql(
		'outbox_dead',
		{ ...(since !== undefined && { since }), ...(until !== undefined && { until }) },
		parameters,
	)
	const ofGroup = (columns: string, g: string, end: string): string => `
		select ${columns} from {s}.outbox_dead d
		where d.fingerprint = ${g}.fingerprint and d.cause = ${g}.cause and d.destination = ${g}.destination and ${times} ${end}`
	const grouped = `
	select f.*, n.count, first.died_at as first_at, first.seq
	from json_to_recordset(${given}::json) as f(fingerprint text, cause text, destination text)
	cross join lateral (select count(*) as count from (${ofGroup('', 'f', `order by d.died_at, d.seq limit ${parameters.add(rows + 1, 'int')}`)}) r) n
	cross join lateral (${ofGroup('d.died_at, d.seq', 'f', 'order by d.died_at, d.seq limit 1')}) first`
	const last = `(${ofGroup('d.died_at', 'g', 'order by d.died_at desc, d.seq desc limit 1')})`
	return { sql: shownSql(grouped, last, parameters.add(limit, 'int')), values: parameters.values }
}

/** For conditions that the index of groups does not have: reads all matching dead letters. */
function groupedSql(filter: StoreFilter, limit: number) {
	const parameters = new Parameters()
	const grouped = `
	select fingerprint, cause, destination, count(*) as count, min(died_at) as first_at, max(died_at) as last_at,
		(array_agg(seq order by died_at, seq))[1] as seq
	from {s}.outbox_dead where ${filterSql('outbox_dead', filter, parameters)} group by 1, 2, 3`
	return { sql: shownSql(grouped, 'g.last_at', parameters.add(limit, 'int')), values: parameters.values }
}

/** Returns the largest groups first. */
export async function deadGroups(
	executor: PostgresExecutor,
	filter: StoreFilter,
	limit: number,
): Promise<readonly DeadGroupRow[]> {
	const found = canJump(filter) ? await executor.runOnce<Group>(FIND, []) : undefined
	const isComplete = found !== undefined && found.length <= MAX_GROUPS
	const groups = isComplete ? found.filter((group) => isSelected(group, filter)) : []
	if (isComplete && groups.length === 0) return []
	const rows = isComplete ? groupLimit(groups.length) : Infinity
	const { sql, values } = isComplete ? countedSql(filter, groups, limit, rows) : groupedSql(filter, limit)
	const read = await executor.runOnce<Row>(sql, values)
	return read.map((row) => {
		const { count, ...group } = withNumbers(row, ['count', 'firstAt', 'lastAt'])
		return { ...group, count: Math.min(count, rows), isCapped: count > rows }
	})
}
