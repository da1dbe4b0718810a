/**
 * Claims a key in one statement. `found` makes the decision of the contract for the row that the statement
 * sees. If it does not block, the row is inserted, or taken over if the same decision still holds for the row at
 * that moment: meanwhile another request may have claimed it, or a transaction that completes it may have been
 * committed while the statement waited for its lock.
 *
 * Nothing is written and no row is locked if `found` blocks. If neither part returns a row, another request
 * was faster, and the next statement sees what it wrote.
 *
 * PostgreSQL prepares the insert even where it does not run, which doubles the time of a replay. So a key
 * that this process has seen blocked is looked up first, without the insert; a first request is still one
 * statement. Rejected: a function in the schema that runs the insert on demand, because every change of it
 * would be a migration.
 */
import { isSerializationFailure } from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { decide } from '../decide.ts'
import { decodeResponse, decodeSteps, NO_STEPS, wholeMs } from '../encoded.ts'
import { IdempotencyStoreError } from '../errors.ts'
import type { IdempotencyClaimRequest, IdempotencyClaimResult, StoreCall, StoredKey } from '../store.ts'

/**
 * What a row means for a request with the fingerprint $2 and the token $4; $3 says whether abandoned keys are
 * rejected, $7 is the token of a claim whose process has ended. The cases have the same order as in `decide`.
 */
const decision = (row: string, now: string): string => `case
		when ${row}.expires_at <= ${now} then 'free'
		when ${row}.fingerprint <> $2::text then 'mismatch'
		when ${row}.state in ('completed', 'unstored') then ${row}.state
		when ${row}.token = $4::text then 'free'
		when ${row}.state = 'running' and ${row}.lease_until > ${now} and ${row}.token is distinct from $7::text then 'running'
		when ${row}.state = 'running' and $3::boolean then 'abandoned'
		else 'free' end`

/** The row as it is: `decide` costs less in the process than in the statement. */
const LOOK_UP = `
select {now} as now, expires_at, fingerprint, token, state, lease_until, status, headers, body
from {s}.idempotency_keys where id = $1::text`

/** $5: lease, $6: retention. A free row whose retention is not over has the request's fingerprint. */
export const CLAIM: string = `
with found as materialized (
	select ${decision('f', 'f.now')} as kind, f.* from (${LOOK_UP}) f
), claimed as (
	insert into {s}.idempotency_keys as k (id, fingerprint, token, state, lease_until, expires_at, created_at)
	select $1::text, $2::text, $4::text, 'running', {now} + $5::bigint, {now} + $5::bigint + $6::bigint, {now}
	where not exists (select from found where kind <> 'free')
	on conflict (id) do update set
		token = excluded.token, state = 'running', fingerprint = excluded.fingerprint,
		lease_until = {now} + $5::bigint, expires_at = {now} + $5::bigint + $6::bigint,
		created_at = case when k.expires_at <= {now} then {now} else k.created_at end,
		steps = case when k.expires_at <= {now} then null else k.steps end,
		completed_at = null, status = null, headers = null, body = null
	where ${decision('k', '{now}')} = 'free'
	returning steps
)
select kind, lease_until - now as lease_ms, case when kind = 'completed' then status end as status,
	case when kind = 'completed' then headers end as headers, case when kind = 'completed' then body end as body, token, null as steps
from found where kind <> 'free'
union all
select 'claimed', null, null, null, null, null, steps from claimed`

/** The columns of a response, and of the claim. */
interface KeyRow {
	readonly token: string
	/** Null without a response. */
	readonly status: number | null
	readonly headers: string
	readonly body: unknown
}

interface ClaimRow extends KeyRow {
	readonly kind: IdempotencyClaimResult['kind']
	readonly lease_ms: string | number | null
	readonly steps: string | null
}

/** Times are texts in `pg`. */
interface FoundRow extends KeyRow {
	readonly now: string | number
	readonly expires_at: string | number
	readonly lease_until: string | number
	readonly fingerprint: string
	readonly state: StoredKey['state']
}

/** Each lost race means that another request has claimed the key or ended its claim meanwhile. */
const MAX_RACES = 100

/** `seen` are keys that were blocked or completed when this process saw them last. */
export async function claim(
	executor: PostgresExecutor,
	seen: RecentIds,
	request: IdempotencyClaimRequest,
	call?: StoreCall,
): Promise<IdempotencyClaimResult> {
	const { id, fingerprint, token, leaseMs, retentionMs, abandoned, endedToken } = request
	if (seen.has(id)) {
		const [row] = await executor.runAtAnyLevel<FoundRow>(LOOK_UP, [id], call)
		const result = row && toBlocked(row, request)
		if (result) return result
		seen.delete(id)
	}
	const values = [
		id,
		fingerprint,
		abandoned === 'reject',
		token,
		wholeMs(leaseMs),
		wholeMs(retentionMs),
		endedToken ?? null,
	]
	for (let race = 0; race < MAX_RACES; race++) {
		const [row] = await repeatedly(() => executor.runAtAnyLevel<ClaimRow>(CLAIM, values, call))
		if (!row) continue
		const { kind, lease_ms, steps } = row
		if (kind === 'claimed') return { kind, steps: decodeSteps(steps) }
		seen.add(id)
		return toResult(kind, row, Number(lease_ms))
	}
	throw new IdempotencyStoreError(`a key changed ${MAX_RACES} times while it was claimed`)
}

/** Undefined if the key may be claimed. */
function toBlocked(row: FoundRow, request: IdempotencyClaimRequest): IdempotencyClaimResult | undefined {
	const now = Number(row.now)
	if (Number(row.expires_at) <= now) return undefined
	const key = {
		...row,
		leaseUntil: Number(row.lease_until),
		steps: NO_STEPS,
		get response() {
			return row.status === null ? undefined : decodeResponse(row.status, row.headers, row.body)
		},
	}
	const result = decide(key, request, now)
	return result.kind === 'claimed' ? undefined : result
}

function toResult(
	kind: Exclude<IdempotencyClaimResult['kind'], 'claimed'>,
	row: KeyRow,
	leaseLeftMs: number,
): IdempotencyClaimResult {
	if (kind === 'completed')
		return { kind, response: decodeResponse(Number(row.status), row.headers, row.body) }
	return kind === 'running' ? { kind, leaseLeftMs, token: row.token } : { kind }
}

const MAX_TRIES = 20

/** Repeats a statement that met a concurrent one at a level above read committed: it has written nothing. */
export async function repeatedly<T>(run: () => Promise<T>): Promise<T> {
	for (let left = MAX_TRIES; ; left--) {
		try {
			return await run()
		} catch (error) {
			if (left === 0 || !isSerializationFailure(error)) throw error
		}
	}
}

/** The latest ids, a limited number. */
export class RecentIds {
	static readonly #MAX = 10_000
	/** The set keeps the order in which the ids were added. */
	readonly #ids = new Set<string>()

	has(id: string): boolean {
		return this.#ids.has(id)
	}

	add(id: string): void {
		this.#ids.add(id)
		if (this.#ids.size <= RecentIds.#MAX) return
		const [oldest] = this.#ids
		if (oldest !== undefined) this.#ids.delete(oldest)
	}

	delete(id: string): void {
		this.#ids.delete(id)
	}
}
