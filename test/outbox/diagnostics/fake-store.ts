/** An in-memory store for tests of dead letters and diagnostics: the test sets rows and time. */
import { cappedCount, NOTHING_BLOCKED } from '../../../src/outbox/store/counting.ts'
import type {
	AttemptRow,
	DestinationCircuit,
	OperatorNote,
	RelayRow,
	StoredMessage,
} from '../../../src/outbox/store/rows.ts'
import type { DeadGroupRow, MessageEdit, OutboxStore, StoreFilter } from '../../../src/outbox/store/store.ts'
import type { CappedCount, DestinationCounts, StoreStats } from '../../../src/outbox/store/store-stats.ts'

export const NOW: number = Date.UTC(2026, 4, 15, 12)

/** The n-th id, in the order of enqueuing. */
export const idOf = (n: number): string => `0196d4a0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

const BLANK: StoredMessage = {
	id: idOf(1),
	topic: 'order.created',
	destination: 'billing',
	key: null,
	payload: '{"total":1}',
	headers: null,
	dedupeKey: null,
	status: 'pending',
	attempts: 0,
	maxRetries: null,
	dueAt: NOW - 1_000,
	lastAttemptAt: null,
	error: null,
	lockedAt: null,
	lockedBy: null,
	leaseUntil: null,
	createdAt: NOW - 60_000,
	expiresAt: null,
	crashes: 0,
	endedAt: null,
	cause: null,
	blocks: false,
}

export const message = (given: Partial<StoredMessage> = {}): StoredMessage => ({ ...BLANK, ...given })

export const letter = (n: number, given: Partial<StoredMessage> = {}): StoredMessage =>
	message({
		id: idOf(n),
		status: 'dead',
		cause: 'retries-exhausted',
		attempts: 6,
		dueAt: null,
		endedAt: NOW - 600_000 + n,
		error: { type: 'HttpError', message: 'HTTP 503', fingerprint: 'aaaaaaaaaaaa' },
		...given,
	})

export const relay = (given: Partial<RelayRow> = {}): RelayRow => ({
	id: 'relay-1',
	host: 'host',
	pid: 1,
	destinations: ['billing'],
	orderedDestinations: [],
	heartbeatMs: 5_000,
	inFlight: 0,
	sent: 0,
	failed: 0,
	dead: 0,
	throughput: 40,
	startedAt: NOW - 3_600_000,
	seenAt: NOW - 1_000,
	...given,
})

export const circuit = (given: Partial<DestinationCircuit> = {}): DestinationCircuit => ({
	destination: 'billing',
	state: 'open',
	pausedForMs: 12_000,
	reason: 'circuit-open',
	failedProbes: 0,
	delayMs: 10_000,
	closedAgoMs: null,
	operatorPause: null,
	version: 1,
	...given,
})

function groupBy(
	rows: Iterable<StoredMessage>,
	nameOf: (row: StoredMessage) => string,
): Map<string, StoredMessage[]> {
	const groups = new Map<string, StoredMessage[]>()
	for (const row of rows) {
		const group = groups.get(nameOf(row))
		if (group) group.push(row)
		else groups.set(nameOf(row), [row])
	}
	return groups
}

const ENDED: readonly string[] = ['dead', 'sent']

const notHere = (): Promise<never> => Promise.reject(new Error('the fake store has none of this'))

export class FakeStore implements OutboxStore {
	readonly kind = 'fake'
	readonly migrations = []
	time: number = NOW
	rows = new Map<string, StoredMessage>()
	relayRows: readonly RelayRow[] = [relay()]
	circuitRows: readonly DestinationCircuit[] = []
	attemptRows: AttemptRow[] = []
	discarded: { readonly ids: readonly string[]; readonly keepHistory: boolean }[] = []
	edits: (MessageEdit | undefined)[] = []
	operators: OperatorNote[] = []
	/** The limits and sizes of batches. */
	batches: number[] = []
	statsLimits: number[] = []
	/** The destinations for which stats were requested; undefined means all. */
	statsOf: (string | undefined)[] = []
	/** Replaces the counts of the fake. */
	counts: Readonly<Record<string, Partial<DestinationCounts>>> = {}
	hasMoreDestinations = false
	clockBehindMs = 0
	/** Called with the ids of each replay, once they are in the queue. */
	onReplay: (ids: readonly string[]) => void = () => {}

	constructor(rows: readonly StoredMessage[] = []) {
		for (const row of rows) this.put(row)
	}

	put(row: StoredMessage): void {
		this.rows.set(row.id, row)
	}

	change(id: string, given: Partial<StoredMessage>): void {
		const row = this.rows.get(id)
		if (row) this.put({ ...row, ...given })
	}

	#matching({ ids, since, until, ...rest }: StoreFilter): StoredMessage[] {
		const timeOf = (row: StoredMessage): number => row.endedAt ?? row.createdAt
		return [...this.rows.values()]
			.filter(
				(row) =>
					(!ids || ids.includes(row.id)) &&
					timeOf(row) >= (since ?? -Infinity) &&
					timeOf(row) < (until ?? Infinity) &&
					(rest.status ? row.status === rest.status : row.status !== 'sent') &&
					(rest.topic ?? row.topic) === row.topic &&
					(rest.destination ?? row.destination) === row.destination &&
					(rest.key ?? row.key) === row.key &&
					(rest.cause ?? row.cause) === row.cause &&
					(rest.fingerprint ?? row.error?.fingerprint) === row.error?.fingerprint,
			)
			.sort((a, b) => (a.id < b.id ? -1 : 1))
	}

	#dead(filter: StoreFilter): StoredMessage[] {
		return this.#matching({ ...filter, status: 'dead' })
	}

	async find(id: string): Promise<StoredMessage | undefined> {
		return this.rows.get(id)
	}

	async list(filter: StoreFilter, limit: number, after = ''): Promise<readonly StoredMessage[]> {
		return this.#matching(filter)
			.filter(({ id }) => id > after)
			.slice(0, limit)
	}

	async deadGroups(filter: StoreFilter, limit: number): Promise<readonly DeadGroupRow[]> {
		const groups = groupBy(this.#dead(filter), ({ error }) => error?.fingerprint ?? '')
		return [...groups]
			.map(([fingerprint, [first = BLANK, ...others]]) => ({
				fingerprint,
				cause: first.cause ?? 'permanent',
				destination: first.destination,
				errorType: first.error?.type ?? null,
				errorMessage: first.error?.message ?? null,
				count: others.length + 1,
				isCapped: false,
				firstAt: first.endedAt ?? 0,
				lastAt: (others.at(-1) ?? first).endedAt ?? 0,
				exampleId: first.id,
			}))
			.sort((a, b) => b.count - a.count)
			.slice(0, limit)
	}

	async countDead(filter: StoreFilter, limit: number): Promise<CappedCount> {
		return cappedCount(this.#dead(filter).length, limit)
	}

	async replay(
		filter: StoreFilter,
		limit: number,
		operator: OperatorNote,
		edit?: MessageEdit,
	): Promise<readonly string[]> {
		this.operators.push(operator)
		const letters = this.#dead(filter).slice(0, limit)
		const ids = letters.map(({ id }) => id)
		this.batches.push(ids.length)
		this.edits.push(edit)
		// The old error stays: a canary must not mistake it for a new one.
		const fresh = { status: 'pending', attempts: 0, crashes: 0, endedAt: null, cause: null } as const
		for (const id of ids) this.change(id, { ...fresh, dueAt: this.time })
		this.onReplay(ids)
		return ids
	}

	async discard(
		filter: StoreFilter,
		limit: number,
		operator: OperatorNote,
		keepHistory: boolean,
	): Promise<readonly string[]> {
		this.operators.push(operator)
		const ids = this.#dead(filter)
			.slice(0, limit)
			.map(({ id }) => id)
		for (const id of ids) this.rows.delete(id)
		this.discarded.push({ ids, keepHistory })
		return ids
	}

	resend(): Promise<never> {
		return Promise.reject(new Error('not supported by the fake store'))
	}

	logAttempts(): Promise<never> {
		return this.resend()
	}

	dropAttempts(): Promise<never> {
		return this.resend()
	}

	async attempts(): Promise<readonly AttemptRow[]> {
		return this.attemptRows
	}

	/** The first blocking dead letter before it, or the first of its key in the queue. */
	async findPredecessor(id: string): Promise<StoredMessage | undefined> {
		const own = this.rows.get(id)
		const before = [...this.rows.values()]
			.filter((row) => row.destination === own?.destination && row.key === own.key && row.id < id)
			.sort((a, b) => (a.id < b.id ? -1 : 1))
		return before.find(({ blocks }) => blocks) ?? before.find(({ status }) => !ENDED.includes(status))
	}

	async now(): Promise<number> {
		return this.time
	}

	async stats(limit: number, only?: string): Promise<StoreStats> {
		this.statsLimits.push(limit)
		this.statsOf.push(only)
		const destinations = groupBy(this.rows.values(), ({ destination }) => destination)
		return {
			now: this.time,
			destinations: [...destinations]
				.filter(([name]) => only === undefined || name === only)
				.map(([name, rows]) => ({ ...this.#counts(name, rows, limit), ...this.counts[name] })),
			hasMoreDestinations: this.hasMoreDestinations,
			attempts: [3, 2, 1],
			forecast: Array.from({ length: 12 }, (_, index) => ({ count: index, isCapped: false })),
			clockBehindMs: this.clockBehindMs,
		}
	}

	#counts(destination: string, rows: readonly StoredMessage[], limit: number): DestinationCounts {
		const queue = rows.filter(({ status }) => status === 'pending')
		const due = queue.map(({ dueAt }) => this.time - (dueAt ?? 0)).filter((lag) => lag >= 0)
		const waits = queue.map(({ dueAt }) => (dueAt ?? 0) - this.time).filter((wait) => wait > 0)
		const tried = queue
			.filter(({ attempts, dueAt }) => attempts > 0 || (dueAt ?? 0) <= this.time)
			.map(({ createdAt }) => createdAt)
		const having = (status: string): number => rows.filter((row) => row.status === status).length
		return {
			destination,
			due: cappedCount(due.length, limit),
			scheduled: cappedCount(waits.length, limit),
			inFlight: cappedCount(having('processing'), limit),
			dead: cappedCount(having('dead'), limit),
			failing: cappedCount(queue.filter(({ error }) => error !== null).length, limit),
			maxAttempts: Math.max(0, ...queue.map(({ attempts }) => attempts)),
			oldestLagMs: due.length ? Math.max(...due) : null,
			oldestAgeMs: tried.length ? this.time - Math.min(...tried) : null,
			blockedByDead: NOTHING_BLOCKED,
			blockedByRetry: NOTHING_BLOCKED,
			nextDueInMs: waits.length ? Math.min(...waits) : null,
		}
	}

	async circuits(destinations: readonly string[]): Promise<readonly DestinationCircuit[]> {
		return this.circuitRows.filter(({ destination }) => destinations.includes(destination))
	}

	async relays(): Promise<readonly RelayRow[]> {
		return this.relayRows
	}

	accepts(): boolean {
		return false
	}

	async close(): Promise<void> {}

	migrate = notHere
	schemaVersion = notHere
	insert = notHere
	claim = notHere
	settle = notHere
	renew = notHere
	claimsOf = notHere
	hasClaimable = notHere
	nextDueInMs = notHere
	dueDestinations = notHere
	dropHistory = notHere
	dropDedupeKeys = notHere
	audit = notHere
	dropAudit = notHere
	changeCircuit = notHere
	pause = notHere
	changeByOperator = notHere
	operatorPauses = async (): Promise<readonly DestinationCircuit[]> =>
		this.circuitRows.filter(({ operatorPause }) => operatorPause !== null)
	acquireTokens = notHere
	returnTokens = notHere
	acquirePermits = notHere
	heartbeat = notHere
	removeRelay = notHere
	retryNow = notHere
	expire = notHere
	notify = notHere
	listen = notHere
}
