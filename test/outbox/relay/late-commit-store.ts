/**
 * A queue in virtual time whose transactions commit long after they wrote, and whose sent messages stay as dead rows, as under a snapshot that is held
 * open: every row that a scan reads takes time.
 */
import type { VirtualRuntime } from 'yaoki/testing'
import type { ClaimedRow, ClaimTarget, Settlement } from '../../../src/outbox/store/rows.ts'
import { type FakeStore, fakeStore } from '../fake-store.ts'

const STATEMENT_MS = 10

interface Row {
	readonly id: string
	readonly writtenAt: number
	readonly committedAt: number
	dueAt: number
	attempts: number
	isClaimed: boolean
	isDead: boolean
}

export interface LateCommitStore extends FakeStore {
	/** The targets of all claims. */
	readonly targets: ClaimTarget[]
	/** When each message could be claimed: committed, and due. */
	readonly claimableSince: (id: string) => number
	/** Writes `count` messages in a transaction, and commits it `commitMs` later. */
	write(count: number, commitMs: number): void
	readonly unsent: number
}

/** `rowMs` is what a scan takes per row that it reads. */
export function lateCommitStore(clock: VirtualRuntime, rowMs: number): LateCommitStore {
	const queue = new Map<string, Row>()
	const targets: ClaimTarget[] = []
	let notify = () => {}
	const takes = <Result>(ms: number, result: Result) =>
		new Promise<Result>((resolve) => void clock.setTimer(ms, () => resolve(result)))
	const isVisible = ({ committedAt }: Row) => committedAt <= clock.wallNow()

	const claimFrom = ({ since, limit }: ClaimTarget): { rows: ClaimedRow[]; read: number } => {
		const now = clock.wallNow()
		const inOrder = [...queue.values()].filter(isVisible).sort((a, b) => a.dueAt - b.dueAt)
		const rows: ClaimedRow[] = []
		let read = 0
		for (const row of inOrder) {
			if (row.dueAt < since) continue
			if (row.dueAt > now || rows.length === limit) break
			read++
			if (row.isDead || row.isClaimed) continue
			row.isClaimed = true
			row.attempts++
			rows.push({
				id: row.id,
				topic: 'jobs',
				destination: 'jobs',
				key: null,
				payload: '1',
				headers: null,
				expiresAt: null,
				maxRetries: null,
				attempt: row.attempts,
				claimedAt: now,
				delayMs: null,
				crashes: 0,
				sequence: 1,
				createdAt: row.writtenAt,
				dueAt: row.dueAt,
			})
		}
		return { rows, read }
	}

	const settleRow = (settlement: Settlement): void => {
		const row = queue.get(settlement.id)
		if (!row) return
		row.isClaimed = false
		if (settlement.type === 'retry') row.dueAt = clock.wallNow() + settlement.inMs
		else if (settlement.type !== 'release') row.isDead = true
	}

	const base = fakeStore()
	return {
		...base,
		targets,
		claimableSince: (id) => Math.max(queue.get(id)?.committedAt ?? 0, queue.get(id)?.dueAt ?? 0),
		write(count, commitMs) {
			const writtenAt = clock.wallNow()
			const committedAt = writtenAt + commitMs
			for (let at = 0; at < count; at++) {
				const id = crypto.randomUUID()
				const dueAt = writtenAt
				queue.set(id, { id, writtenAt, committedAt, dueAt, attempts: 0, isClaimed: false, isDead: false })
			}
			clock.setTimer(commitMs, () => notify())
		},
		get unsent() {
			return [...queue.values()].filter(({ isDead }) => !isDead).length
		},
		async claim(request) {
			if (request.poisonCandidates)
				return takes(STATEMENT_MS, { now: clock.wallNow(), rows: [], circuits: [] })
			targets.push(...request.targets)
			const found = request.targets.map(claimFrom)
			const now = clock.wallNow()
			const read = found.reduce((sum, one) => sum + one.read, 0)
			return takes(STATEMENT_MS + rowMs * read, {
				now,
				rows: found.flatMap(({ rows }) => rows),
				circuits: [],
			})
		},
		settle(_owner, settlements) {
			settlements.forEach(settleRow)
			return takes(STATEMENT_MS, [])
		},
		nextDueInMs() {
			const waits = [...queue.values()].filter((row) => isVisible(row) && row.dueAt > clock.wallNow())
			const next = Math.min(...waits.map(({ dueAt }) => dueAt))
			return takes(STATEMENT_MS, next === Infinity ? undefined : next - clock.wallNow())
		},
		listen(onNotify) {
			notify = onNotify
			return Promise.resolve(() => Promise.resolve())
		},
		migrations: [{ version: 1, name: 'first', sql: '' }],
		renew: () => Promise.resolve([]),
		heartbeat: () => Promise.resolve(),
		removeRelay: () => Promise.resolve(),
	}
}
