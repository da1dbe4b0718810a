/** Claims messages. */
import { TimeoutError } from '../../../core/errors/errors.ts'
import type { BoundedExecutor } from '../../../sql/bounded-executor.ts'
import { isCancelledStatement } from '../../../sql/postgres-errors.ts'
import { type Big, toNumberOrNull } from '../../../sql/postgres-values.ts'
import type { ClaimedRow, ClaimRef, ClaimRequest, ClaimResult, ClaimTarget } from '../rows.ts'
import { MAX_SEARCHED } from '../search-limit.ts'
import { parseCircuits } from './circuits.ts'
import { claimSql, OVERTAKING, REPLAYS, type TargetKind } from './claim-sql.ts'
import { settleOperations } from './settle.ts'

interface Row {
	readonly id: string | null
	readonly destination: string
	readonly topic: string
	readonly key: string | null
	readonly payload: string
	readonly headers: string | null
	readonly attempts: Big
	readonly max_retries: Big | null
	readonly delay_ms: Big | null
	readonly crashes: Big
	readonly created_at: Big
	readonly due_at: Big
	readonly expires_at: Big | null
	readonly seq: Big
}

function kindOf({ keys, perKey = 1, isOrdered }: ClaimTarget): TargetKind {
	if (keys !== undefined) return perKey > 1 ? 'runs' : 'keys'
	return isOrdered ? 'ordered' : 'unordered'
}

/** Stands for Infinity, which is not an int. */
const MAX_INT = 2 ** 31 - 1

const ALL_KINDS: readonly TargetKind[] = ['unordered', 'ordered', 'keys', 'runs']

export async function claim(
	executor: BoundedExecutor,
	request: ClaimRequest,
	timeoutMs: number,
): Promise<ClaimResult> {
	const { targets, poisonCandidates, poisonAfter } = request
	const kinds = new Set(targets.map(kindOf))
	const sql = claimSql({
		kinds: targets.length === 0 ? ['unordered'] : ALL_KINDS.filter((kind) => kinds.has(kind)),
		poisonCandidates,
		hasRecordedCrash: poisonAfter > 1,
	})
	const wanted = targets.map((target) => ({
		destination: target.destination,
		max_rows: target.limit,
		since: Math.floor(target.since),
		kind: kindOf(target),
		keys: target.keys,
		per_key: target.perKey,
		held: target.heldKeys ?? [],
		probe: target.isProbe,
	}))
	const values = [
		JSON.stringify(wanted),
		request.owner,
		Math.ceil(request.leaseMs),
		Math.min(poisonAfter, MAX_INT),
	]
	const limits = { timeoutMs, label: `claim ${request.owner}`, signal: request.signal }
	const ordered = new Set(
		targets.filter((target) => kindOf(target) !== 'unordered').map(({ destination }) => destination),
	)
	const next = ordered.size > 0 ? { sql: REPLAYS, values: [JSON.stringify([...ordered])] } : undefined
	const [head, ...found] = await executor.run<Row>(sql, values, limits, next).catch((error: unknown) => {
		throw isCancelledStatement(error) ? new TimeoutError('claim', timeoutMs) : error
	})
	const hasReplays = next !== undefined && Number(found.pop()?.seq) !== Number(head?.seq)
	const now = Number(head?.due_at)
	const rows = inOrder(found, targets, now)
	return {
		now,
		rows: hasReplays ? await withoutOvertaking(executor, request.owner, rows, ordered) : rows,
		circuits: parseCircuits(head?.payload ?? null, now),
	}
}

const CLAIMS_OF = `
with n as materialized (select {now} as ms)
select x.id::text as id, x.attempts, x.locked_at, x.seq
from json_array_elements_text($1::text::json) as d(destination) cross join lateral (
	select o.id, o.attempts, o.locked_by, o.locked_at, o.lease_until, o.seq from {s}.outbox o
	where o.destination = d.destination and o.due_at <= (select ms from n)
	order by o.due_at, o.seq limit ${MAX_SEARCHED}
) x
where x.locked_by = $2::text and x.lease_until > (select ms from n)`

/** No index contains the owner: every claim would have to change it. */
export async function claimsOf(
	executor: BoundedExecutor,
	owner: string,
	destinations: readonly string[],
	timeoutMs: number,
): Promise<readonly ClaimRef[]> {
	type Found = { id: string; attempts: Big; locked_at: Big; seq: Big }
	const limits = { timeoutMs, label: `claims of ${owner}` }
	const found = await executor.run<Found>(CLAIMS_OF, [JSON.stringify(destinations), owner], limits)
	return found.map(({ id, attempts, locked_at, seq }) => ({
		...{ id, attempt: Number(attempts), claimedAt: Number(locked_at), sequence: Number(seq) },
	}))
}

/** Releases what may not be sent now, because an earlier message of its key was replayed and claimed meanwhile. Returns the other rows. */
async function withoutOvertaking(
	executor: BoundedExecutor,
	owner: string,
	rows: readonly ClaimedRow[],
	ordered: ReadonlySet<string>,
): Promise<readonly ClaimedRow[]> {
	const keyOf = ({ destination, key }: ClaimedRow): string => JSON.stringify([destination, key])
	const heads = new Map<string, Pick<ClaimedRow, 'id' | 'destination' | 'key' | 'sequence'>>()
	for (const row of rows) {
		const { id, destination, key, sequence } = row
		if (key !== null && ordered.has(destination) && !heads.has(keyOf(row)))
			heads.set(keyOf(row), { id, destination, key, sequence })
	}
	const found = await executor.run<{ id: string }>(OVERTAKING, [JSON.stringify([...heads.values()]), owner])
	const overtaking = new Set(found.map(({ id }) => id))
	const isOvertaking = (row: ClaimedRow): boolean => overtaking.has(heads.get(keyOf(row))?.id ?? '')
	const releases = rows
		.filter(isOvertaking)
		.map(({ id, attempt, claimedAt }) => ({ type: 'release', id, attempt, claimedAt }) as const)
	await settleOperations(executor).settle(owner, releases, false)
	return rows.filter((row) => !isOvertaking(row))
}

/** Rows arrive in physical order, which is nearly the order in which they are due. */
function inOrder(rows: readonly Row[], targets: readonly ClaimTarget[], now: number): readonly ClaimedRow[] {
	const positions = new Map<string, number>()
	if (targets.length > 1)
		targets.forEach(({ destination }, at) => {
			if (!positions.has(destination)) positions.set(destination, at)
		})
	const runs = keysOfRuns(targets)
	return rows
		.map((row) => ({
			row: toClaimedRow(row, now),
			position: positions.get(row.destination) ?? 0,
			// A retry of the first message of a run is due later than those that follow it.
			dueAt: row.key !== null && runs.get(row.destination)?.has(row.key) ? 0 : Number(row.due_at),
		}))
		.sort((a, b) => a.position - b.position || a.dueAt - b.dueAt || a.row.sequence - b.row.sequence)
		.map(({ row }) => row)
}

const keysOfRuns = (targets: readonly ClaimTarget[]): ReadonlyMap<string, ReadonlySet<string>> =>
	new Map(
		targets.flatMap(({ destination, keys, perKey = 1 }) =>
			keys && perKey > 1 ? [[destination, new Set(keys)]] : [],
		),
	)

const toClaimedRow = (row: Row, claimedAt: number): ClaimedRow => ({
	id: row.id ?? '',
	sequence: Number(row.seq),
	destination: row.destination,
	topic: row.topic,
	key: row.key,
	payload: row.payload,
	headers: row.headers,
	attempt: Number(row.attempts),
	claimedAt,
	maxRetries: toNumberOrNull(row.max_retries),
	delayMs: toNumberOrNull(row.delay_ms),
	crashes: Number(row.crashes),
	createdAt: Number(row.created_at),
	dueAt: Number(row.due_at),
	expiresAt: toNumberOrNull(row.expires_at),
})
