/**
 * One store under trial, with the few moves that every case is made of. Times are minutes and hours on purpose: a real database's clock
 * runs on while a case runs, and what a promise means must not hang on some seconds more or less.
 */
import assert from 'node:assert/strict'
import type {
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

/** More than any limit that a case should not run into. */
export const MANY = 10_000

/** Promises by their names. */
export type CaseTable = Readonly<Record<string, (trial: StoreHarness) => Promise<void>>>

/** What a claim of one lane asks for, where it differs from the plainest. */
export type ClaimOverrides = Partial<ClaimTarget> & Partial<Omit<ClaimRequest, 'targets'>>

/** A time by the database, give or take what a slow machine needs. */
export const near = (actual: number | null | undefined, expected: number, what: string): void => {
	assert.ok(typeof actual === 'number', `${what} is a number, not ${actual}`)
	assert.ok(Math.abs(actual - expected) <= MINUTE, `${what} is about ${expected}, not ${actual}`)
}

export const the = <T>(value: T | null | undefined, what: string): T => {
	assert.ok(value !== undefined && value !== null, `${what} is missing`)
	return value
}

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map((row) => row.id)

export const sorted = (texts: Iterable<string>): string[] => [...texts].sort()

export const target = (wish: Partial<ClaimTarget> = {}): ClaimTarget => ({
	destination: wish.destination ?? 'a',
	limit: wish.limit ?? 100,
	since: wish.since ?? 0,
	isOrdered: wish.isOrdered ?? false,
	keys: wish.keys,
	isProbe: wish.isProbe ?? false,
})

export class StoreHarness {
	readonly store: Store
	readonly opened: StoreUnderTest
	readonly #others: Store[] = []
	#ids = 0

	constructor(opened: StoreUnderTest) {
		this.opened = opened
		this.store = opened.store
	}

	/** Ids go up with each call; a case that needs them otherwise gives its own. */
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
		return the((await this.enqueue(part))[0], 'an id')
	}

	claimTargets(
		targets: readonly ClaimTarget[],
		wish: ClaimOverrides = {},
		store: Store = this.store,
	): ReturnType<Store['claim']> {
		return store.claim({
			owner: wish.owner ?? 'r1',
			leaseMs: wish.leaseMs ?? HOUR,
			poisonCandidates: wish.poisonCandidates ?? false,
			poisonAfter: wish.poisonAfter ?? 1_000,
			targets,
		})
	}

	async claim(wish: ClaimOverrides = {}, store?: Store): Promise<readonly ClaimedRow[]> {
		return (await this.claimTargets([target(wish)], wish, store)).rows
	}

	async claimIds(wish: ClaimOverrides = {}): Promise<string[]> {
		return idsOf(await this.claim(wish))
	}

	/** Claims what must be exactly one message. */
	async claimOne(wish: ClaimOverrides = {}): Promise<ClaimedRow> {
		const rows = await this.claim(wish)
		assert.equal(rows.length, 1, `one message is claimed, not ${rows.length}`)
		return the(rows[0], 'the message')
	}

	/** Settles for the owner that claims have by default; nothing may be lost. */
	async settle(outcomes: readonly Settlement[], keepHistory = false, owner = 'r1'): Promise<void> {
		assert.deepEqual(await this.store.settle(owner, outcomes, keepHistory), [], 'no claim was lost')
	}

	/** Enqueues a message and makes it a dead letter. */
	async bury(part: Partial<NewRow> = {}, death: Death = {}): Promise<string> {
		const id = await this.enqueueOne(part)
		const rows = await this.claim({ destination: part.destination ?? 'a', limit: MANY })
		const row = the(
			rows.find((each) => each.id === id),
			'the message to bury',
		)
		const others = rows.filter((each) => each.id !== id)
		await this.settle([
			dead(row, death),
			...others.map((each) => ({ type: 'release', id: each.id, attempt: each.attempt }) as const),
		])
		return id
	}

	/** What is known about a message that must be known. */
	async find(id: string): Promise<StoredMessage> {
		return the(await this.store.find(id), `message ${id}`)
	}

	/** The database's time. */
	async now(): Promise<number> {
		return (await this.claimTargets([target({ destination: 'nobody at all' })])).now
	}

	async advance(ms: number): Promise<void> {
		await this.opened.advance(ms)
	}

	/** A second store on the same database, where there can be one. */
	async another(): Promise<Store | undefined> {
		const other = await this.opened.another?.()
		if (other) this.#others.push(other)
		return other
	}

	/** A second store, or the same one when there can be no second: what must hold between two must hold within one. */
	async other(): Promise<Store> {
		return (await this.another()) ?? this.store
	}

	async close(): Promise<void> {
		for (const other of this.#others) await other.close()
		await this.opened.close()
	}
}
