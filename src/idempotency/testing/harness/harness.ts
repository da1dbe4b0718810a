/**
 * A store under test with the steps that cases consist of. A case never depends on how fast it runs: a lease
 * or retention that has to last is `LONG_MS`, and one that has to end is `shortMs`, after which the case
 * waits.
 */
import { systemRuntime } from '../../../core/runtime/system.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from '../../store/store.ts'
import { assertEqual, assertThat } from './assertions.ts'

/** Cases by name. */
export type CaseTable = Readonly<Record<string, (t: StoreHarness) => Promise<void>>>

const MINUTE_MS = 60_000
export const LONG_MS: number = 24 * 60 * MINUTE_MS

/** How long a case waits if the store has no virtual clock. */
const WAITED_MS = 50
/** Timers and clocks of databases round. */
const ROUNDING_MS = 10

/** Returns a name that is as long as a hash. */
export const hashOf = (name: string): string => name.padEnd(43, '_')

export const ID: string = hashOf('key-1')
export const OTHER_ID: string = hashOf('key-2')
export const OTHER_REQUEST: { readonly fingerprint: string } = { fingerprint: hashOf('request-2') }

export const RESPONSE: StoredResponse = {
	status: 201,
	headers: [['content-type', 'text/plain']],
	body: new Uint8Array([104, 105]),
}

/** A step and its result. */
export const CHARGE: StoredSteps = { charge: '{"value":1}' }

/** A claim that succeeded. */
export interface Claimed extends IdempotencyClaimRef {
	readonly steps: StoredSteps
}

export class StoreHarness {
	readonly opened: IdempotencyStoreUnderTest
	readonly store: IdempotencyStore
	/** A duration that `letPass` waits for. */
	readonly shortMs: number
	readonly #others: IdempotencyStore[] = []
	#tokens = 0

	constructor(opened: IdempotencyStoreUnderTest) {
		this.opened = opened
		this.store = opened.store
		this.shortMs = opened.advance ? MINUTE_MS : WAITED_MS
	}

	/** Each claim has a token of its own, unless one is given. */
	request(overrides: Partial<IdempotencyClaimRequest> = {}): IdempotencyClaimRequest {
		return {
			id: ID,
			fingerprint: hashOf('request-1'),
			token: `00000000-0000-4000-8000-${String(++this.#tokens).padStart(12, '0')}`,
			leaseMs: LONG_MS,
			retentionMs: LONG_MS,
			abandoned: 'rerun',
			...overrides,
		}
	}

	async claim(
		overrides?: Partial<IdempotencyClaimRequest>,
		store: IdempotencyStore = this.store,
	): Promise<IdempotencyClaimResult> {
		return store.claim(this.request(overrides))
	}

	/** Claims a key, which must succeed. */
	async claimed(overrides?: Partial<IdempotencyClaimRequest>): Promise<Claimed> {
		const request = this.request(overrides)
		const result = await this.store.claim(request)
		assertThat(result.kind === 'claimed', `the claim: expected claimed, got ${result.kind}`)
		return { id: request.id, token: request.token, steps: result.steps }
	}

	/** Claims a key whose lease ends before this returns. */
	async abandoned(
		overrides: Partial<IdempotencyClaimRequest> = {},
		steps: StoredSteps = {},
	): Promise<Claimed> {
		const claim = await this.claimed({ leaseMs: this.shortMs, ...overrides })
		await this.save(claim, steps)
		await this.letPass(this.shortMs)
		return claim
	}

	/** Claims a key and completes it. */
	async completed(
		response: StoredResponse | undefined = RESPONSE,
		overrides?: Partial<IdempotencyClaimRequest>,
	): Promise<Claimed> {
		const claim = await this.claimed(overrides)
		await this.complete(claim, response)
		return claim
	}

	/** Claims a key and completes it without a response. */
	async unstored(overrides?: Partial<IdempotencyClaimRequest>): Promise<Claimed> {
		const claim = await this.claimed(overrides)
		assertEqual(await this.store.complete(claim, undefined, LONG_MS), true, 'the result of complete')
		return claim
	}

	/** Claims a key, stores steps and releases it. */
	async released(steps: StoredSteps = {}, overrides?: Partial<IdempotencyClaimRequest>): Promise<Claimed> {
		const claim = await this.claimed(overrides)
		await this.save(claim, steps)
		await this.release(claim)
		return claim
	}

	/** Claims a key and lets its lease and its retention pass. */
	async expired(): Promise<Claimed> {
		const claim = await this.claimed({ leaseMs: this.shortMs, retentionMs: this.shortMs })
		await this.letPass(2 * this.shortMs)
		return claim
	}

	/** Stores steps, which must succeed. */
	async save(claim: IdempotencyClaimRef, steps: StoredSteps): Promise<void> {
		for (const [name, value] of Object.entries(steps))
			assertEqual(await this.store.saveStep(claim, name, value), true, `the result of saving step ${name}`)
	}

	/** Completes a claim, which must succeed. */
	async complete(
		claim: IdempotencyClaimRef,
		response: StoredResponse | undefined = RESPONSE,
		retentionMs: number = LONG_MS,
	): Promise<void> {
		assertEqual(await this.store.complete(claim, response, retentionMs), true, 'the result of complete')
	}

	/** Releases a claim, which must succeed. */
	async release(claim: IdempotencyClaimRef): Promise<void> {
		assertEqual(await this.store.release(claim), true, 'the result of release')
	}

	/** Asserts what a claim returns. */
	async expectClaim(
		expected: IdempotencyClaimResult,
		overrides?: Partial<IdempotencyClaimRequest>,
	): Promise<void> {
		assertEqual(await this.claim(overrides), expected, 'the claim')
	}

	async expectKind(
		kind: IdempotencyClaimResult['kind'],
		overrides?: Partial<IdempotencyClaimRequest>,
	): Promise<void> {
		assertEqual((await this.claim(overrides)).kind, kind, 'the kind of the claim')
	}

	/** Asserts that every write of a claim returns false and changes nothing. */
	async expectFenced(claim: IdempotencyClaimRef): Promise<void> {
		const { store } = this
		const before = await this.snapshot(claim.id)
		const writes = {
			heartbeat: () => store.heartbeat(claim, 2 * LONG_MS),
			saveStep: () => store.saveStep(claim, 'late', '{"value":"late"}'),
			complete: () => store.complete(claim, { ...RESPONSE, status: 299 }, LONG_MS),
			'complete without a response': () => store.complete(claim, undefined, LONG_MS),
			release: () => store.release(claim),
		}
		for (const [name, write] of Object.entries(writes)) {
			assertEqual(await write(), false, `the result of a late ${name}`)
			assertEqual(await this.snapshot(claim.id), before, `the key after a late ${name}`)
		}
	}

	/** What is stored, without what changes with time: durations are rounded to hours. */
	async snapshot(id: string = ID): Promise<unknown> {
		const found = await this.store.find(id)
		if (!found) return undefined
		const hours = (ms: number) => Math.abs(Math.round(ms / (60 * MINUTE_MS)))
		const { leaseLeftMs, expiresAt, ...fixed } = found
		return {
			...fixed,
			leaseHours: leaseLeftMs === null ? null : hours(leaseLeftMs),
			keptHours: hours(expiresAt - found.createdAt),
		}
	}

	/** Finds a key that must exist. */
	async find(id: string = ID): Promise<StoredKey> {
		const found = await this.store.find(id)
		assertThat(found, 'the key: expected to be found, got undefined')
		return found
	}

	async expectGone(id: string = ID): Promise<void> {
		assertEqual(await this.store.find(id), undefined, 'the key')
	}

	/** Lets a little more than this time pass. */
	async letPass(ms: number): Promise<void> {
		if (this.opened.advance) await this.opened.advance(ms + ROUNDING_MS)
		else await new Promise<void>((resolve) => void systemRuntime.setTimer(ms + ROUNDING_MS, resolve))
	}

	/** Runs `call` several times concurrently, on two stores in turn if there can be two. */
	async concurrently<T>(
		count: number,
		call: (store: IdempotencyStore, n: number) => Promise<T>,
	): Promise<T[]> {
		const other = await this.opened.another?.()
		if (other) this.#others.push(other)
		const stores = other ? [this.store, other] : [this.store]
		return Promise.all(
			Array.from({ length: count }, (_, n) => call(stores[n % stores.length] ?? this.store, n)),
		)
	}

	async close(): Promise<void> {
		for (const other of this.#others) await other.close?.()
		await this.opened.close()
	}
}

/**
 * A store on an empty database of its own. For authors of stores: the function that is passed to
 * `idempotencyStoreConformance` returns it.
 */
export interface IdempotencyStoreUnderTest<Tx = unknown> {
	readonly store: IdempotencyStore<Tx>
	/**
	 * Moves the store's clock forward. Omit it if that is not possible: then leases and retentions that have to
	 * end are 50 ms long, and the suite waits for them.
	 */
	advance?(ms: number): void | Promise<void>
	/** True if the database deletes expired keys by itself and `purge` has nothing to do. Default false. */
	readonly purgesItself?: boolean | undefined
	/** A table of the user in the store's database, for stores with transactions. */
	readonly userTable?:
		| {
				/** Inserts a row in a transaction of the store. */
				insert(tx: Tx): Promise<unknown>
				/** Returns the number of committed rows. */
				count(): Promise<number>
		  }
		| undefined
	/** Opens a second store on the same database and clock, as another process would. Omit it if it cannot. */
	another?(): Promise<IdempotencyStore<Tx>>
	/** Closes the stores and deletes the database. */
	close(): void | Promise<void>
}
