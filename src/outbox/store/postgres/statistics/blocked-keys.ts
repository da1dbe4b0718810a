/**
 * Finds keys whose messages wait for one message, at a bounded cost: a jump through an index per key, and a
 * count up to a limit behind it.
 */
import type { SqlExecutor } from '../../../../sql/postgres-executor.ts'
import { type Big, withNumbers } from '../../../../sql/postgres-values.ts'
import {
	BLOCKING_FAILURES,
	BLOCKING_WAIT_MS,
	type BlockingMessage,
	MAX_BEHIND,
	MAX_BLOCKING,
	NOTHING_BLOCKED,
	sumBlocked,
} from '../../counting.ts'
import type { BlockedKeys } from '../../store-stats.ts'
import { ALL_NAMES, FIRST_DUE_AT, NOW, ONE_NAME, shareSql } from './names-sql.ts'

/** `front` has the blocking messages. */
const COUNT_BEHIND = `
share as materialized (${shareSql(`least($1::int, ${MAX_BEHIND})`, 'front')})
select front.destination, front.key, front.id::text as id, front.since, (select rows from share) as "limit", (
	select count(*) from (
		select from {s}.outbox o where o.destination = front.destination and o.key = front.key and o.seq > front.seq
		limit (select rows + 1 from share)
	) w
) as behind
from front order by front.destination collate "C", front.key`

/** The collation is that of the index. */
const DESTINATION = 'd.destination collate "C"'

const behindDeadSql = (where: string): string => `
with recursive found as (
	(select d.destination, d.key from {s}.outbox_dead d where d.blocks${where} order by ${DESTINATION}, d.key limit 1)
	union all
	select next.destination, next.key from found f cross join lateral (
		select d.destination, d.key from {s}.outbox_dead d
		where d.blocks and (${DESTINATION}, d.key) > (f.destination, f.key)${where}
		order by ${DESTINATION}, d.key limit 1
	) next
),
keys as materialized (select destination, key from found limit ${MAX_BLOCKING + 1}),
front as materialized (
	select keys.destination, keys.key, first.id, first.seq, first.died_at as since from keys cross join lateral (
		select d.id, d.seq, d.died_at from {s}.outbox_dead d
		where d.blocks and ${DESTINATION} = keys.destination and d.key = keys.key order by d.seq limit 1
	) first
),${COUNT_BEHIND}`

/** A claim counts its attempt before the outcome is known. */
const FAILURES = 'f.attempts - (f.locked_by is not null)::int'

const behindRetrySql = (names: string): string => `
with recursive n as materialized (select {now} as ms), ${names},
checked as materialized (${shareSql(`least($1::int, ${MAX_BLOCKING})`, 'names')}),
front as materialized (
	select f.destination, f.key, f.id, f.seq, f.since from names cross join lateral (
		select o.*, ${FIRST_DUE_AT} as since from {s}.outbox o
		where o.destination = names.destination and o.first_due_after_ms is not null
		order by ${FIRST_DUE_AT} limit (select rows from checked)
	) f
	where f.key is not null
		and (${FAILURES} >= ${BLOCKING_FAILURES} or f.due_at >= ${NOW} + ${BLOCKING_WAIT_MS})
		and f.seq = (select e.seq from {s}.outbox e where e.destination = f.destination and e.key = f.key order by e.seq limit 1)
),${COUNT_BEHIND}`

const ALL = { dead: behindDeadSql(''), retry: behindRetrySql(ALL_NAMES) }
const ONE = { dead: behindDeadSql(` and ${DESTINATION} = $2::text`), retry: behindRetrySql(ONE_NAME) }

type Row = BlockingMessage & { readonly limit: Big }

/** Blocked keys of any destination. */
export interface BlockedLookup {
	behindDead(destination: string): BlockedKeys
	/** `isCut` if the destination has more failed messages than were checked. */
	behindRetry(destination: string, isCut: boolean): BlockedKeys
}

export async function findBlocked(
	executor: SqlExecutor,
	now: number,
	limit: number,
	destination: string | undefined,
): Promise<BlockedLookup> {
	const sql = destination === undefined ? ALL : ONE
	const values = destination === undefined ? [limit] : [limit, destination]
	const read = async (text: string): Promise<readonly Row[]> =>
		(await executor.runOnce<Row>(text, values)).map((row) => withNumbers(row, ['since', 'behind', 'limit']))
	const found = await read(sql.dead)
	const dead = found.slice(0, MAX_BLOCKING)
	const retry = await read(sql.retry)
	const firstCut = found[MAX_BLOCKING]?.destination
	const sum = (rows: readonly Row[], name: string, isCut: boolean): BlockedKeys => {
		const own = rows.filter((row) => row.destination === name)
		return own.length === 0 && !isCut
			? NOTHING_BLOCKED
			: sumBlocked(own, Number(own[0]?.limit ?? 0), now, isCut)
	}
	return {
		behindDead: (name) => sum(dead, name, firstCut !== undefined && name >= firstCut),
		behindRetry: (name, isCut) => sum(retry, name, isCut),
	}
}
