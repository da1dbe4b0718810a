/**
 * Keys in the memory of one process: for tests, development and services with one instance. Bounded: when it
 * is full, the completed key that was stored first is removed. Running keys are never removed, because their
 * next request would run a second time.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import { checkNames, MAX_NUMBER, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { decide } from './decide.ts'
import { NO_STEPS } from './encoded.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from './store.ts'

/** Options of `memoryIdempotencyStore`. */
export interface MemoryIdempotencyStoreOptions {
	/** The maximum number of keys. Default 10,000. */
	readonly maxKeys?: number | undefined
	/** The maximum size of all stored bodies and steps. Default 64 MiB. */
	readonly maxBytes?: number | undefined
	/** The clock. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

const SCHEMA: OptionSchema = {
	maxKeys: [1, MAX_NUMBER, 10_000, 'integer'],
	maxBytes: [0, MAX_NUMBER, 64 * 2 ** 20],
	runtime: 'any',
}

interface Settings {
	readonly maxKeys: number
	readonly maxBytes: number
	readonly runtime?: Runtime
}

/** One key. */
interface Row {
	state: StoredKey['state']
	readonly fingerprint: string
	token: string
	leaseUntil: number
	expiresAt: number
	readonly createdAt: number
	completedAt: number | null
	steps: StoredSteps
	response: StoredResponse | undefined
	bytes: number
}

/**
 * Creates a store of idempotency keys in memory, for tests and for a single process: pass it as `store` to
 * `idempotency`.
 *
 * @example
 * const engine = idempotency({ store: memoryIdempotencyStore(), principal: ({ raw }) => userOf(raw)?.id })
 */
export function memoryIdempotencyStore(options: MemoryIdempotencyStoreOptions = {}): IdempotencyStore<never> {
	checkNames(options, SCHEMA, 'memoryIdempotencyStore')
	return new MemoryStore(readOptions<Settings>(options, SCHEMA))
}

class MemoryStore implements IdempotencyStore<never> {
	readonly isShared = false
	readonly #settings: Settings
	readonly #runtime: Runtime
	/** The rows in the order of creation. */
	readonly #rows = new Map<string, Row>()
	/** Ids of completed keys, in the order of completion, in which they also expire. */
	readonly #completed = new Set<string>()
	#bytes = 0

	constructor(settings: Settings) {
		this.#settings = settings
		this.#runtime = settings.runtime ?? systemRuntime
	}

	claim(request: IdempotencyClaimRequest): IdempotencyClaimResult {
		const now = this.#runtime.now()
		const row = this.#find(request.id, now)
		const result = row && decide(row, request, now)
		if (result && result.kind !== 'claimed') return result
		const { fingerprint, token } = request
		const leaseUntil = now + request.leaseMs
		const expiresAt = leaseUntil + request.retentionMs
		if (row) {
			Object.assign(row, { state: 'running', token, leaseUntil, expiresAt })
			return { kind: 'claimed', steps: row.steps }
		}
		this.#makeRoom(1, 0, now)
		this.#rows.set(request.id, {
			state: 'running',
			fingerprint,
			token,
			leaseUntil,
			expiresAt,
			createdAt: this.#runtime.wallNow(),
			completedAt: null,
			steps: NO_STEPS,
			response: undefined,
			bytes: 0,
		})
		return { kind: 'claimed', steps: NO_STEPS }
	}

	heartbeat(claim: IdempotencyClaimRef, leaseMs: number): boolean {
		const row = this.#claimed(claim)
		if (!row) return false
		const retentionMs = row.expiresAt - row.leaseUntil
		row.leaseUntil = this.#runtime.now() + leaseMs
		row.expiresAt = row.leaseUntil + retentionMs
		return true
	}

	saveStep(claim: IdempotencyClaimRef, name: string, value: string): boolean {
		const row = this.#claimed(claim)
		if (!row) return false
		this.#resize(row, row.bytes + name.length + value.length)
		row.steps = { ...row.steps, [name]: value }
		return true
	}

	complete(claim: IdempotencyClaimRef, response: StoredResponse | undefined, retentionMs: number): boolean {
		const row = this.#claimed(claim)
		if (!row) return false
		this.#resize(row, response?.body.length ?? 0)
		// Steps are of no use after the response.
		row.steps = NO_STEPS
		row.state = response ? 'completed' : 'unstored'
		// The caller may reuse its buffer.
		row.response = response && { ...response, body: response.body.slice() }
		row.completedAt = this.#runtime.wallNow()
		row.expiresAt = this.#runtime.now() + retentionMs
		this.#completed.add(claim.id)
		return true
	}

	release(claim: IdempotencyClaimRef): boolean {
		const row = this.#claimed(claim)
		if (!row) return false
		if (row.steps === NO_STEPS) this.#delete(claim.id)
		else row.state = 'released'
		return true
	}

	resolve(id: string, response: StoredResponse | undefined, retentionMs: number): boolean {
		const now = this.#runtime.now()
		const row = this.#find(id, now)
		if (row?.state !== 'running' || row.leaseUntil > now) return false
		const claim = { id, token: row.token }
		return response ? this.complete(claim, response, retentionMs) : this.release(claim)
	}

	delete(id: string, isForced = false): boolean {
		const now = this.#runtime.now()
		const row = this.#find(id, now)
		if (!row || (row.state === 'running' && row.leaseUntil > now && !isForced)) return false
		this.#delete(id)
		return true
	}

	purge(limit: number): number {
		const now = this.#runtime.now()
		let purged = 0
		for (const [id, row] of this.#rows) {
			if (purged >= limit) break
			if (row.expiresAt > now) continue
			this.#delete(id)
			purged++
		}
		return purged
	}

	find(id: string): StoredKey | undefined {
		const now = this.#runtime.now()
		const row = this.#find(id, now)
		if (!row) return undefined
		const { token, state, createdAt, completedAt, response, steps } = row
		return {
			token,
			state,
			leaseLeftMs: state === 'running' ? row.leaseUntil - now : null,
			createdAt,
			completedAt,
			expiresAt: this.#runtime.wallNow() + row.expiresAt - now,
			status: response?.status ?? null,
			bodyBytes: response?.body.length ?? null,
			steps: Object.keys(steps),
		}
	}

	/** The row, unless its retention is over. */
	#find(id: string, now: number): Row | undefined {
		const row = this.#rows.get(id)
		if (!row || row.expiresAt > now) return row
		this.#delete(id)
		return undefined
	}

	/** The row, if this claim still holds it. */
	#claimed({ id, token }: IdempotencyClaimRef): Row | undefined {
		const row = this.#find(id, this.#runtime.now())
		return row?.state === 'running' && row.token === token ? row : undefined
	}

	#resize(row: Row, bytes: number): void {
		this.#makeRoom(0, bytes - row.bytes, this.#runtime.now())
		this.#bytes += bytes - row.bytes
		row.bytes = bytes
	}

	/** Removes completed keys until there is room; throws if that is not enough. */
	#makeRoom(keys: number, bytes: number, now: number): void {
		const { maxKeys, maxBytes } = this.#settings
		const isFull = () => this.#rows.size + keys > maxKeys || this.#bytes + bytes > maxBytes
		if (!isFull()) return
		// Nothing is removed for a body that would not fit into an empty store.
		if (bytes <= maxBytes) {
			for (const id of this.#completed) {
				this.#delete(id)
				if (!isFull()) return
			}
			// These are abandoned keys whose retention is over.
			for (const [id, row] of this.#rows) if (row.expiresAt <= now) this.#delete(id)
		}
		if (!isFull()) return
		const cause =
			bytes > maxBytes ? `${bytes} bytes are too much for it` : 'all keys that it could remove are running'
		throw new YaokiError(
			'YAOKI_IDEMPOTENCY_STORE_FULL',
			`The memory store is full: ${cause} (maxKeys ${maxKeys}, maxBytes ${maxBytes})`,
		)
	}

	#delete(id: string): void {
		this.#bytes -= this.#rows.get(id)?.bytes ?? 0
		this.#rows.delete(id)
		this.#completed.delete(id)
	}
}
