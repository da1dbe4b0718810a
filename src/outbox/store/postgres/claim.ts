/**
 * Claims messages. A claim of an ordered destination reads due messages in windows: most of a window may be
 * followers of messages in flight, and then the next, larger window continues after it.
 */
import type { Runtime } from '../../../core/runtime/runtime.ts'
import type { BoundedExecutor } from '../../../sql/bounded-executor.ts'
import { type Big, MAX_INT, toNumberOrNull } from '../../../sql/postgres-values.ts'
import { crashFilterOf } from '../decisions/poison.ts'
import type { ClaimedRow, ClaimRequest, ClaimResult, ClaimTarget } from '../rows.ts'
import { parseCircuits } from './circuits.ts'
import { claimSql, MAX_WINDOW, OVERTAKING, REPLAYS, type TargetKind } from './claim-sql.ts'
import type { KeyBounds } from './key-bounds.ts'
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
	readonly in_order?: boolean
}

/** What a scan of an ordered destination reports beside its rows. */
interface ScanReport {
	readonly target: number
	/** The size of the window. */
	readonly rows: number
	/** The number of claimed messages, with those that a claim by key has found too. */
	readonly found: number
	/** Due time and sequence number of the last message of the window. */
	readonly last: readonly [dueAt: number, sequence: number] | null
	/** Keys and sequence numbers of first messages that were not claimed. */
	readonly heads: readonly (readonly [key: string, sequence: number])[] | null
}

/** A target, and what is left to scan of it. */
interface Part {
	readonly target: ClaimTarget
	readonly limit: number
	readonly windowRows: number
	readonly since: number
	readonly afterSequence: number
}

/** A claim that takes longer may have searched for the first message of a key among many that were sent. */
const SLOW_MS = 10
const SLOW_MS_PER_ROW = 0.1

const WINDOW_GROWTH = 4
/** Beside a claim by key, a window of which one in this many messages was claimed is enough. */
const MIN_FOUND_SHARE = 4

function kindOf({ keys, perKey = 1, isOrdered }: ClaimTarget): TargetKind {
	if (keys !== undefined) return perKey > 1 ? 'runs' : 'keys'
	return isOrdered ? 'ordered' : 'unordered'
}

const ALL_KINDS: readonly TargetKind[] = ['unordered', 'ordered', 'keys', 'runs']

/** What a store uses for its claims. */
export interface Claiming {
	readonly executor: BoundedExecutor
	readonly bounds: KeyBounds
	readonly runtime: Runtime
	readonly timeoutMs: number
}

export async function claim(claiming: Claiming, request: ClaimRequest): Promise<ClaimResult> {
	const { executor, bounds, runtime } = claiming
	const { targets, owner, signal } = request
	let parts: readonly Part[] = targets.map((target) => ({
		target,
		limit: target.limit,
		windowRows: target.limit,
		// All messages that are due at `since` are after it.
		since: Math.floor(target.since),
		afterSequence: -1,
	}))
	let all: ClaimedRow[] = []
	for (;;) {
		const startedAt = runtime.now()
		const { head, rows, hasReplays, ordered } = await runClaim(claiming, request, parts)
		const now = Number(head?.due_at)
		const claimed = rows.map((row) => toClaimedRow(row, now))
		const kept = hasReplays ? await withoutOvertaking(executor, owner, claimed, ordered) : claimed
		all = all.length === 0 ? kept : [...all, ...kept]
		const reports: readonly ScanReport[] = JSON.parse(head?.headers ?? '[]')
		const isSlow = runtime.now() - startedAt > SLOW_MS + rows.length * SLOW_MS_PER_ROW
		for (const destination of ordered) bounds.recordClaim(destination, isSlow)
		recordBounds(bounds, rows, ordered, reports, parts)
		parts = unfinished(parts, reports)
		if (parts.length > 0 && !signal?.aborted) continue
		return { now, rows: inOrder(all, targets), circuits: parseCircuits(head?.payload ?? null, now) }
	}
}

async function runClaim(
	{ executor, bounds, timeoutMs }: Claiming,
	request: ClaimRequest,
	parts: readonly Part[],
) {
	const { owner, leaseMs, poisonAfter, signal } = request
	const kinds = new Set(parts.map(({ target }) => kindOf(target)))
	const wanted = parts.map(({ target, limit, windowRows, since, afterSequence }, at) => ({
		position: at,
		destination: target.destination,
		kind: kindOf(target),
		probe: target.isProbe,
		max_rows: limit,
		window_rows: windowRows,
		since,
		after_seq: afterSequence,
		keys: target.keys,
		per_key: target.perKey,
		held: target.heldKeys ?? [],
		bounds: target.isOrdered ? bounds.of(target.destination, target.keys) : undefined,
	}))
	const sql = claimSql({
		kinds: parts.length === 0 ? ['unordered'] : ALL_KINDS.filter((kind) => kinds.has(kind)),
		crashes: crashFilterOf(request),
		hasBounds: wanted.some((target) => target.bounds !== undefined),
	})
	const values = [JSON.stringify(wanted), owner, Math.ceil(leaseMs), Math.min(poisonAfter, MAX_INT)]
	const limits = { timeoutMs, label: `claim ${owner}`, signal }
	const ordered = new Set(
		parts.flatMap(({ target }) => (kindOf(target) === 'unordered' ? [] : [target.destination])),
	)
	const next = ordered.size > 0 ? { sql: REPLAYS, values: [JSON.stringify([...ordered])] } : undefined
	const [head, ...rows] = await executor.run<Row>(sql, values, limits, next)
	const hasReplays = next !== undefined && Number(rows.pop()?.seq) !== Number(head?.seq)
	return { head, rows, hasReplays, ordered }
}

/** Records the first message of each key that the claim has found. Rows of a key are not in order. */
function recordBounds(
	bounds: KeyBounds,
	rows: readonly Row[],
	ordered: ReadonlySet<string>,
	reports: readonly ScanReport[],
	parts: readonly Part[],
): void {
	const firsts = new Map<string, Map<string, { first: Row; count: number }>>()
	for (const row of rows) {
		const { destination, key } = row
		if (key === null || !ordered.has(destination)) continue
		const byKey = firsts.get(destination) ?? new Map<string, { first: Row; count: number }>()
		firsts.set(destination, byKey)
		const known = byKey.get(key)
		if (!known) byKey.set(key, { first: row, count: 1 })
		else {
			known.count++
			if (Number(row.seq) < Number(known.first.seq)) known.first = row
		}
	}
	for (const [destination, byKey] of firsts)
		for (const [key, { first, count }] of byKey)
			if (first.in_order) bounds.record(destination, key, Number(first.seq), count)
	for (const { target, heads } of reports) {
		const destination = parts[target]?.target.destination
		if (destination !== undefined)
			for (const [key, sequence] of heads ?? []) bounds.record(destination, key, sequence, 0)
	}
}

/** Returns the scans whose window was full and did not yield enough. */
function unfinished(parts: readonly Part[], reports: readonly ScanReport[]): readonly Part[] {
	return reports.flatMap(({ target: at, rows: count, found, last }) => {
		const part = parts[at]
		if (!part || last === null || count < part.windowRows) return []
		const limit = part.limit - found
		if (limit <= 0) return []
		// The next window would show as held what was claimed by key just now. With fewer such messages in the
		// queue, the next claim gets further.
		const { destination } = part.target
		const isByKeyToo = parts.some(({ target }) => target.keys && target.destination === destination)
		if (isByKeyToo && found * MIN_FOUND_SHARE >= part.windowRows) return []
		const windowRows = Math.max(limit, Math.min(MAX_WINDOW, part.windowRows * WINDOW_GROWTH))
		return [{ target: part.target, limit, windowRows, since: last[0], afterSequence: last[1] }]
	})
}

/** Releases what may not be sent now, because an earlier message of its key was replayed and claimed meanwhile. Returns the other rows. */
async function withoutOvertaking(
	executor: BoundedExecutor,
	owner: string,
	rows: readonly ClaimedRow[],
	ordered: ReadonlySet<string>,
): Promise<ClaimedRow[]> {
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

/** Rows arrive in physical order, which is nearly always the order in which they are due. */
function inOrder(rows: ClaimedRow[], targets: readonly ClaimTarget[]): readonly ClaimedRow[] {
	const positions = new Map<string, number>()
	if (targets.length > 1)
		targets.forEach(({ destination }, at) => {
			if (!positions.has(destination)) positions.set(destination, at)
		})
	const runs = keysOfRuns(targets)
	const positionOf = ({ destination }: ClaimedRow): number => positions.get(destination) ?? 0
	// A retry of the first message of a run is due later than those that follow it.
	const dueAtOf = ({ key, destination, dueAt }: ClaimedRow): number =>
		key !== null && runs.get(destination)?.has(key) ? 0 : dueAt
	return rows.sort(
		(a, b) => positionOf(a) - positionOf(b) || dueAtOf(a) - dueAtOf(b) || a.sequence - b.sequence,
	)
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
