/**
 * A store under test with the steps that cases consist of. Durations are minutes and hours: the clock of a
 * real database runs on during a case, and a few seconds must not change a result.
 */
import assert from 'node:assert/strict'
import type { MessageStatus } from '../../message/message.ts'
import type {
	AfterDeadLetter,
	ClaimedRow,
	ClaimRequest,
	ClaimTarget,
	NewRow,
	OperatorNote,
	Settlement,
	StoredMessage,
} from '../../store/rows.ts'
import type { MessageEdit, OutboxStore, StoreFilter } from '../../store/store.ts'
import { assertFields, HOUR, idsOf, MINUTE, required, sorted } from './assertions.ts'
import { type Death, dead, release, retry, sent } from './settlements.ts'
import type { OutboxStoreUnderTest } from './store-under-test.ts'

export const OPERATOR: OperatorNote = { by: 'ada@ops', reason: 'a test' }

/** Claims of an ordered destination. */
export const ORDERED = { isOrdered: true } as const

/** A limit that no case reaches. */
export const MANY = 10_000

/** Cases by name. */
export type CaseTable = Readonly<Record<string, (t: StoreHarness) => Promise<void>>>

/** Returns a case per value: `nameOf` makes a sentence of its key, and `check` receives it. */
export const caseTable = <Value>(
	values: Readonly<Record<string, Value>>,
	nameOf: (key: string) => string,
	check: (t: StoreHarness, value: Value) => Promise<void>,
): CaseTable =>
	Object.fromEntries(
		Object.entries(values).map(([key, value]) => [nameOf(key), (t: StoreHarness) => check(t, value)]),
	)

/** Fields of a claim of one target that differ from the defaults. */
export type ClaimOverrides = Partial<ClaimTarget> & Partial<Omit<ClaimRequest, 'targets'>>

export const target = (overrides: Partial<ClaimTarget> = {}): ClaimTarget => {
	const { destination = 'a', limit = 100, since = 0, isOrdered = false, isProbe = false } = overrides
	const { keys, perKey } = overrides
	return { destination, limit, since, isOrdered, isProbe, keys, perKey }
}

type Rows<Count extends number, List extends ClaimedRow[] = []> = List['length'] extends Count
	? List
	: Rows<Count, [...List, ClaimedRow]>

export class StoreHarness {
	readonly store: OutboxStore
	readonly opened: OutboxStoreUnderTest
	readonly #others: OutboxStore[] = []
	#ids = 0

	constructor(opened: OutboxStoreUnderTest) {
		this.opened = opened
		this.store = opened.store
	}

	/** Returns ascending ids. */
	id(): string {
		this.#ids++
		return `01890a5d-ac96-7000-8000-${this.#ids.toString(16).padStart(12, '0')}`
	}

	row(part: Partial<NewRow> = {}): NewRow {
		return {
			id: this.id(),
			topic: 'order.created',
			destination: 'a',
			key: null,
			payload: '{"n":1}',
			headers: null,
			dedupeKey: null,
			notBefore: null,
			expiresAt: null,
			maxRetries: null,
			...part,
		}
	}

	async enqueue<const Parts extends readonly Partial<NewRow>[]>(
		...parts: Parts
	): Promise<{ -readonly [Index in keyof Parts]: string }> {
		const rows = parts.map((part) => this.row(part))
		await this.store.insert(rows)
		return idsOf(rows) as { -readonly [Index in keyof Parts]: string }
	}

	async enqueueOne(part: Partial<NewRow> = {}): Promise<string> {
		return (await this.enqueue(part))[0]
	}

	enqueueMany(count: number, part: Partial<NewRow> = {}): Promise<string[]> {
		return this.enqueue(...Array.from({ length: count }, () => part))
	}

	/** Enqueues a message and claims it. */
	async enqueueAndClaim(part?: Partial<NewRow>, overrides?: ClaimOverrides): Promise<ClaimedRow> {
		await this.enqueueOne(part)
		return this.claimOne(overrides)
	}

	claimTargets(
		targets: readonly ClaimTarget[],
		{ owner = 'r1', leaseMs = HOUR, poisonCandidates = false, poisonAfter = 1_000 }: ClaimOverrides = {},
		store: OutboxStore = this.store,
	): ReturnType<OutboxStore['claim']> {
		return store.claim({ owner, leaseMs, poisonCandidates, poisonAfter, targets })
	}

	async claim(overrides: ClaimOverrides = {}, store?: OutboxStore): Promise<readonly ClaimedRow[]> {
		return (await this.claimTargets([target(overrides)], overrides, store)).rows
	}

	async claimIds(overrides: ClaimOverrides = {}): Promise<string[]> {
		return idsOf(await this.claim(overrides))
	}

	async expectClaim(ids: readonly (string | undefined)[], overrides?: ClaimOverrides): Promise<void> {
		assert.deepEqual(await this.claimIds(overrides), ids)
	}

	/** Claims exactly one message. */
	async claimOne(overrides?: ClaimOverrides): Promise<ClaimedRow> {
		return (await this.claimMany(1, overrides))[0]
	}

	/** Claims all due messages for a relay that crashes, and waits until its leases have expired. */
	async crash(overrides?: ClaimOverrides): Promise<void> {
		await this.claim({ leaseMs: MINUTE, ...overrides })
		await this.advance(HOUR)
	}

	/** Settles for the default owner of claims. No claim may be lost. */
	async settle(settlements: readonly Settlement[], keepHistory = false, owner = 'r1'): Promise<void> {
		assert.deepEqual(await this.store.settle(owner, settlements, keepHistory), [], 'no claim was lost')
	}

	/** Settles claims that must all be lost. */
	async expectLost(settlements: readonly Settlement[], owner = 'r1', keepHistory = false): Promise<void> {
		const lost = await this.store.settle(owner, settlements, keepHistory)
		assert.deepEqual(sorted(lost), sorted(idsOf(settlements)))
	}

	/** Claims exactly one message, which must have this id. */
	async claimId(id: string | undefined, overrides?: ClaimOverrides): Promise<ClaimedRow> {
		const row = await this.claimOne(overrides)
		assert.equal(row.id, id)
		return row
	}

	/** Claims exactly one message, which must have this id, and settles it as sent. */
	async send(id: string | undefined, overrides?: ClaimOverrides): Promise<void> {
		await this.settle([sent(await this.claimId(id, overrides))])
	}

	/** Claims exactly one message and settles it as failed, due again after `inMs`. */
	async fail(inMs: number, overrides?: ClaimOverrides): Promise<void> {
		await this.settle([retry(await this.claimOne(overrides), inMs)])
	}

	/** Claims exactly one message and dead-letters it. */
	async die(death?: Death, overrides?: ClaimOverrides): Promise<void> {
		await this.settle([dead(await this.claimOne(overrides), death)])
	}

	/** Enqueues a message and dead-letters it. */
	async addDeadLetter(part: Partial<NewRow> = {}, death: Death = {}): Promise<string> {
		const id = await this.enqueueOne(part)
		const rows = await this.claim({ destination: part.destination ?? 'a', limit: MANY })
		const row = required(
			rows.find((each) => each.id === id),
			'the dead letter',
		)
		await this.settle([dead(row, death), ...rows.filter((each) => each !== row).map((each) => release(each))])
		return id
	}

	/** Adds dead letters a minute apart. */
	async addDeadLetters(count: number): Promise<string[]> {
		const ids: string[] = []
		for (let n = 0; n < count; n++) {
			ids.push(await this.addDeadLetter())
			await this.advance(MINUTE)
		}
		return ids
	}

	/** Replays dead letters as the operator of the suite. */
	replay(filter: StoreFilter, limit: number, edit?: MessageEdit): Promise<readonly string[]> {
		return this.store.replay(filter, limit, OPERATOR, edit)
	}

	/** Discards dead letters as the operator of the suite. */
	discard(filter: StoreFilter, limit: number, keepHistory: boolean): Promise<readonly string[]> {
		return this.store.discard(filter, limit, OPERATOR, keepHistory)
	}

	/** Claims exactly `count` messages. */
	async claimMany<const Count extends number>(
		count: Count,
		overrides?: ClaimOverrides,
	): Promise<Rows<Count>> {
		const rows = await this.claim(overrides)
		assert.equal(rows.length, count, `${count} messages are claimed, not ${rows.length}`)
		return rows as unknown as Rows<Count>
	}

	/** Claims the only first message of a key and dead-letters it. */
	async deadLetterHead(afterDeadLetter: AfterDeadLetter): Promise<void> {
		await this.die({ afterDeadLetter }, ORDERED)
	}

	/** Sends all messages of one key, one after the other. */
	async sendInOrder(ids: readonly string[], overrides: ClaimOverrides = ORDERED): Promise<void> {
		for (const id of ids) await this.send(id, overrides)
	}

	/** Finds a message that must exist. */
	async find(id: string): Promise<StoredMessage> {
		return required(await this.store.find(id), `message ${id}`)
	}

	/** Asserts some fields of a message. */
	async expectMessage(id: string, expected: Partial<StoredMessage>): Promise<void> {
		assertFields(await this.find(id), expected)
	}

	async expectStatus(status: MessageStatus, ids: readonly string[]): Promise<void> {
		for (const id of ids) await this.expectMessage(id, { status })
	}

	/** Asserts that these messages are in no table. */
	async expectGone(...ids: readonly string[]): Promise<void> {
		for (const id of ids) assert.equal(await this.store.find(id), undefined)
	}

	/** Returns the ids of all matching messages. */
	async list(filter: StoreFilter = {}): Promise<string[]> {
		return idsOf(await this.store.list(filter, MANY))
	}

	/** Asserts how many messages have a status. */
	async expectCounts(counts: Readonly<Partial<Record<MessageStatus, number>>>): Promise<void> {
		const found = Object.keys(counts).map(async (status) => {
			const messages = await this.list({ status: status as MessageStatus })
			return [status, messages.length] as const
		})
		assert.deepEqual(Object.fromEntries(await Promise.all(found)), counts)
	}

	/** Returns the number of matching dead letters. */
	async countDead(filter: StoreFilter = {}): Promise<number> {
		return (await this.store.countDead(filter, MANY)).count
	}

	/** Claims exactly one message and asserts some of its fields. */
	async expectClaimed(expected: Partial<ClaimedRow>, overrides: ClaimOverrides = {}): Promise<void> {
		assertFields(await this.claimOne(overrides), expected)
	}

	transaction: OutboxStoreUnderTest['transaction'] = (work, end, isolationLevel) =>
		this.opened.transaction(work, end, isolationLevel)

	/** Returns the database's time. */
	async now(): Promise<number> {
		return (await this.claimTargets([target({ destination: 'unused' })])).now
	}

	async advance(ms: number): Promise<void> {
		await this.opened.advance(ms)
	}

	/** Opens a second store on the same database, if possible. */
	async another(): Promise<OutboxStore | undefined> {
		const other = await this.opened.another?.()
		if (other) this.#others.push(other)
		return other
	}

	/** Returns a second store, or the same one: what holds between two stores must hold within one. */
	async other(): Promise<OutboxStore> {
		return (await this.another()) ?? this.store
	}

	/** Runs `call` several times concurrently, on two stores in turn. */
	async concurrently<T>(count: number, call: (store: OutboxStore, n: number) => Promise<T>): Promise<T[]> {
		const stores = [this.store, await this.other()]
		return Promise.all(Array.from({ length: count }, (_, n) => call(stores[n % 2] ?? this.store, n)))
	}

	async close(): Promise<void> {
		for (const other of this.#others) await other.close()
		await this.opened.close()
	}
}
