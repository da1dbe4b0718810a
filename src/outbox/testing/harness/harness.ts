/**
 * A store under test with the steps that cases consist of. Durations are minutes and hours: the clock of a real database runs on during
 * a case, and a few seconds must not change a result.
 */
import assert from 'node:assert/strict'
import type {
	AfterDeadLetter,
	ClaimedRow,
	ClaimRequest,
	ClaimTarget,
	NewRow,
	Settlement,
	StoredMessage,
} from '../../store/rows.ts'
import type { Store } from '../../store/store.ts'
import { type Death, dead } from './settlements.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const MINUTE = 60_000
export const HOUR: number = 60 * MINUTE

/** A limit that no case reaches. */
export const MANY = 10_000

/** Cases by name. */
export type CaseTable = Readonly<Record<string, (t: StoreHarness) => Promise<void>>>

/** Fields of a claim of one target that differ from the defaults. */
export type ClaimOverrides = Partial<ClaimTarget> & Partial<Omit<ClaimRequest, 'targets'>>

/** Asserts a time of the database, with a minute of tolerance for slow machines. */
export const assertNear = (actual: number | null | undefined, expected: number, what: string): void => {
	assert.ok(typeof actual === 'number', `${what} is a number, not ${actual}`)
	assert.ok(Math.abs(actual - expected) <= MINUTE, `${what} is about ${expected}, not ${actual}`)
}

/** Asserts the given fields of an object. */
const assertFields = <T extends object>(actual: T, expected: Partial<T>): void => {
	const names = Object.keys(expected) as (keyof T)[]
	assert.deepEqual(Object.fromEntries(names.map((name) => [name, actual[name]])), expected)
}

export const required = <T>(value: T | null | undefined, what: string): T => {
	assert.ok(value !== undefined && value !== null, `${what} is missing`)
	return value
}

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map((row) => row.id)

export const sorted = (texts: Iterable<string>): string[] => [...texts].sort()

export const target = (overrides: Partial<ClaimTarget> = {}): ClaimTarget => ({
	destination: overrides.destination ?? 'a',
	limit: overrides.limit ?? 100,
	since: overrides.since ?? 0,
	isOrdered: overrides.isOrdered ?? false,
	keys: overrides.keys,
	isProbe: overrides.isProbe ?? false,
})

type Rows<Count extends number, List extends ClaimedRow[] = []> = List['length'] extends Count
	? List
	: Rows<Count, [...List, ClaimedRow]>

export class StoreHarness {
	readonly store: Store
	readonly opened: StoreUnderTest
	readonly #others: Store[] = []
	#ids = 0

	constructor(opened: StoreUnderTest) {
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

	async enqueue(...parts: readonly Partial<NewRow>[]): Promise<string[]> {
		const rows = parts.map((part) => this.row(part))
		await this.store.insert(rows)
		return idsOf(rows)
	}

	async enqueueOne(part: Partial<NewRow> = {}): Promise<string> {
		return required((await this.enqueue(part))[0], 'an id')
	}

	claimTargets(
		targets: readonly ClaimTarget[],
		overrides: ClaimOverrides = {},
		store: Store = this.store,
	): ReturnType<Store['claim']> {
		return store.claim({
			owner: overrides.owner ?? 'r1',
			leaseMs: overrides.leaseMs ?? HOUR,
			poisonCandidates: overrides.poisonCandidates ?? false,
			poisonAfter: overrides.poisonAfter ?? 1_000,
			targets,
		})
	}

	async claim(overrides: ClaimOverrides = {}, store?: Store): Promise<readonly ClaimedRow[]> {
		return (await this.claimTargets([target(overrides)], overrides, store)).rows
	}

	async claimIds(overrides: ClaimOverrides = {}): Promise<string[]> {
		return idsOf(await this.claim(overrides))
	}

	/** Claims exactly one message. */
	async claimOne(overrides: ClaimOverrides = {}): Promise<ClaimedRow> {
		const rows = await this.claim(overrides)
		assert.equal(rows.length, 1, `one message is claimed, not ${rows.length}`)
		return required(rows[0], 'the message')
	}

	/** Settles for the default owner of claims. No claim may be lost. */
	async settle(settlements: readonly Settlement[], keepHistory = false, owner = 'r1'): Promise<void> {
		assert.deepEqual(await this.store.settle(owner, settlements, keepHistory), [], 'no claim was lost')
	}

	/** Enqueues a message and dead-letters it. */
	async addDeadLetter(part: Partial<NewRow> = {}, death: Death = {}): Promise<string> {
		const id = await this.enqueueOne(part)
		const rows = await this.claim({ destination: part.destination ?? 'a', limit: MANY })
		const row = required(
			rows.find((each) => each.id === id),
			'the dead letter',
		)
		const others = rows.filter((each) => each.id !== id)
		await this.settle([
			dead(row, death),
			...others.map((each) => ({ type: 'release', id: each.id, attempt: each.attempt }) as const),
		])
		return id
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
		await this.settle([dead(await this.claimOne({ isOrdered: true }), { afterDeadLetter })])
	}

	/** Claims and sends `count` messages of one key, one after the other. Returns their ids. */
	async sendInOrder(count: number): Promise<string[]> {
		const ids: string[] = []
		for (let n = 0; n < count; n++) {
			const row = await this.claimOne({ isOrdered: true })
			ids.push(row.id)
			await this.settle([{ type: 'sent', id: row.id, attempt: row.attempt }])
		}
		return ids
	}

	/** Finds a message that must exist. */
	async find(id: string): Promise<StoredMessage> {
		return required(await this.store.find(id), `message ${id}`)
	}

	/** Asserts some fields of a message. */
	async expectMessage(id: string, expected: Partial<StoredMessage>): Promise<void> {
		assertFields(await this.find(id), expected)
	}

	/** Claims exactly one message and asserts some of its fields. */
	async expectClaimed(expected: Partial<ClaimedRow>, overrides: ClaimOverrides = {}): Promise<void> {
		assertFields(await this.claimOne(overrides), expected)
	}

	transaction: StoreUnderTest['transaction'] = (work, end) => this.opened.transaction(work, end)

	/** Returns the database's time. */
	async now(): Promise<number> {
		return (await this.claimTargets([target({ destination: 'unused' })])).now
	}

	async advance(ms: number): Promise<void> {
		await this.opened.advance(ms)
	}

	/** Opens a second store on the same database, if possible. */
	async another(): Promise<Store | undefined> {
		const other = await this.opened.another?.()
		if (other) this.#others.push(other)
		return other
	}

	/** Returns a second store, or the same one if there can be only one: what holds between two stores must hold within one. */
	async other(): Promise<Store> {
		return (await this.another()) ?? this.store
	}

	async close(): Promise<void> {
		for (const other of this.#others) await other.close()
		await this.opened.close()
	}
}
