/** Keys in Redis or Valkey. Redis deletes expired keys by itself. */
import { checkNames, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import { decodeResponse, wholeMs } from '../encoded.ts'
import type {
	IdempotencyClaimResult,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from '../store.ts'
import { type Argument, type RedisClient, scriptRunner } from './clients.ts'
import { type RedisScript, SCRIPTS } from './scripts.ts'

/** Options of `redisIdempotencyStore`. `client` is required: a connected client of ioredis or node-redis. */
export interface RedisIdempotencyStoreOptions {
	/**
	 * A connected client of `ioredis`, or of node-redis (`redis`, `@redis/client`) 5 or later; clusters too.
	 * The store does not close it.
	 */
	readonly client: RedisClient
	/** The beginning of the names of all keys. Default `'yaoki:idempotency:'`. */
	readonly prefix?: string | undefined
}

const SCHEMA: OptionSchema = { client: 'any', prefix: 'string' }

const DEFAULT_PREFIX = 'yaoki:idempotency:'

/**
 * Creates a store of idempotency keys in Redis 5 or later, or in Valkey. Use a server that evicts nothing
 * (`maxmemory-policy noeviction`) and that persists its data: a key that the server loses runs a second time.
 * Replication is asynchronous, so a failover can lose the claims of its last moments; steps with derived keys
 * cover that.
 *
 * @example
 * import { Redis } from 'ioredis'
 *
 * const store = redisIdempotencyStore({ client: new Redis() })
 * const engine = idempotency({ name: 'payments', store, principal: ({ raw }) => userOf(raw)?.id })
 */
export function redisIdempotencyStore(options: RedisIdempotencyStoreOptions): IdempotencyStore<never> {
	checkNames(options, SCHEMA, 'redisIdempotencyStore')
	const { client, prefix = DEFAULT_PREFIX } = readOptions<RedisIdempotencyStoreOptions>(options, SCHEMA)
	const run = scriptRunner(client)
	const write = async (script: RedisScript, id: string, args: readonly Argument[]): Promise<boolean> =>
		(await run(script, prefix + id, args)) === 1

	return {
		async claim({ id, fingerprint, token, leaseMs, retentionMs, abandoned, endedToken = '' }) {
			const args = [fingerprint, token, duration(leaseMs), duration(retentionMs), abandoned, endedToken]
			const [kind, details] = (await run(SCRIPTS.claim, prefix + id, args)) as [Uint8Array, never]
			return toClaimResult(text(kind) as IdempotencyClaimResult['kind'], details)
		},
		heartbeat: ({ id, token }, leaseMs) => write(SCRIPTS.heartbeat, id, [token, duration(leaseMs)]),
		saveStep: ({ id, token }, name, value) =>
			write(SCRIPTS.saveStep, id, [token, JSON.stringify(name), value]),
		complete: ({ id, token }, response, retentionMs) =>
			write(SCRIPTS.complete, id, [token, duration(retentionMs), ...completion(response)]),
		release: ({ id, token }) => write(SCRIPTS.release, id, [token]),
		resolve: (id, response, retentionMs) =>
			write(SCRIPTS.resolve, id, ['', duration(retentionMs), ...(response ? completion(response) : [''])]),
		delete: (id, isForced = false) => write(SCRIPTS.delete, id, [isForced ? 'forced' : '']),
		// Redis deletes expired keys by itself.
		purge: () => 0,
		async find(id) {
			const found = (await run(SCRIPTS.find, prefix + id, [])) as FoundReply | null
			return found ? toStoredKey(found) : undefined
		},
	}
}

const duration = (ms: number): string => String(wholeMs(ms))

/** State, status, headers and body. */
const completion = (response: StoredResponse | undefined): Argument[] =>
	response
		? ['completed', String(response.status), JSON.stringify(response.headers), response.body]
		: ['unstored', '', '', '']

const decoder = new TextDecoder()
const text = (bytes: Uint8Array): string => decoder.decode(bytes)

function toClaimResult(kind: IdempotencyClaimResult['kind'], details: never): IdempotencyClaimResult {
	if (kind === 'completed') {
		const [status, headers, body] = details as [Uint8Array, Uint8Array, Uint8Array]
		return { kind, response: decodeResponse(Number(text(status)), text(headers), body) }
	}
	if (kind === 'running') {
		const [leaseLeftMs, token] = details as [number, Uint8Array]
		return { kind, leaseLeftMs: Number(leaseLeftMs), token: text(token) }
	}
	if (kind === 'claimed') return { kind, steps: toSteps(details) }
	return { kind }
}

/** Names and values in turn. */
function toSteps(fields: readonly Uint8Array[]): StoredSteps {
	const texts = fields.map(text)
	const names = texts.filter((_, index) => index % 2 === 0)
	return Object.fromEntries(names.map((name, index) => [JSON.parse(name), texts[2 * index + 1] ?? '']))
}

type FoundReply = readonly [
	now: Uint8Array,
	leftMs: number,
	bodyBytes: number,
	steps: readonly Uint8Array[],
	fields: readonly (Uint8Array | null)[],
]

function toStoredKey([time, leftMs, bodyBytes, steps, fields]: FoundReply): StoredKey {
	const [state, createdAt, leaseUntil, completedAt, status, token = ''] = fields.map((field) =>
		field ? text(field) : '',
	)
	const now = Number(text(time))
	return {
		token,
		state: state as StoredKey['state'],
		leaseLeftMs: state === 'running' ? Number(leaseUntil) - now : null,
		createdAt: Number(createdAt),
		completedAt: completedAt ? Number(completedAt) : null,
		expiresAt: now + leftMs,
		status: state === 'completed' ? Number(status) : null,
		bodyBytes: state === 'completed' ? bodyBytes : null,
		steps: steps.map((name) => JSON.parse(text(name))),
	}
}
