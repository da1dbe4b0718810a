/**
 * The clients that the store accepts, by their shape: the package imports neither. Replies are bytes, because
 * both clients decode text as UTF-8, which would destroy binary bodies.
 */
import { YaokiError } from '../../../core/errors/errors.ts'
import { invalidOption, isObject } from '../../../core/options/schema.ts'
import { builtinModule } from '../../../sql/node-modules.ts'
import type { RedisScript } from './scripts.ts'

export type Argument = string | Uint8Array

/** A client or cluster of `ioredis`. */
interface IoredisClient {
	callBuffer(command: string, ...args: (string | number | Uint8Array)[]): Promise<unknown>
}

/** A client, pool or cluster of node-redis (`redis` or `@redis/client`), version 5 or later. */
interface NodeRedisClient {
	withTypeMapping(mapping: object): unknown
	evalSha(sha: string, options: object): Promise<unknown>
}

/** A client of Redis or Valkey. */
export type RedisClient = IoredisClient | NodeRedisClient

/** Runs a script for one key. */
type RunScript = (script: RedisScript, key: string, args: readonly Argument[]) => Promise<unknown>

type Command = 'EVALSHA' | 'EVAL'

type Evaluate = (command: Command, script: string, key: string, args: Argument[]) => Promise<unknown>

/** `eval` and `evalSha` of node-redis with replies as bytes. */
type Eval = (script: string, options: { keys: string[]; arguments: Argument[] }) => Promise<unknown>

/** The type of strings in the protocol of Redis. */
const BLOB_STRING = 36

export function scriptRunner(client: RedisClient): RunScript {
	const evaluate = evaluator(client)
	return async (script, key, args) => {
		const sent = args.map(toBuffer)
		const { sha } = script
		try {
			return await evaluate('EVALSHA', typeof sha === 'string' ? sha : await sha, key, sent)
		} catch (error) {
			if (!isUnknownScript(error)) throw error
			// A server that has been restarted, or another one: EVAL also loads the script.
			return evaluate('EVAL', script.text, key, sent)
		}
	}
}

function evaluator(client: RedisClient): Evaluate {
	if (isIoredis(client))
		return (command, script, key, args) => client.callBuffer(command, script, 1, key, ...args)
	if (!isNodeRedis(client))
		invalidOption('client', client, 'a client of ioredis, or of node-redis 5 or later')
	const buffered = client.withTypeMapping({ [BLOB_STRING]: nodeBuffer() }) as Record<'eval' | 'evalSha', Eval>
	return (command, script, key, args) => {
		const options = { keys: [key], arguments: args }
		return command === 'EVAL' ? buffered.eval(script, options) : buffered.evalSha(script, options)
	}
}

const has = (client: unknown, ...methods: string[]): boolean =>
	isObject(client) && methods.every((name) => typeof Reflect.get(client, name) === 'function')

const isIoredis = (client: unknown): client is IoredisClient => has(client, 'callBuffer')
const isNodeRedis = (client: unknown): client is NodeRedisClient =>
	has(client, 'withTypeMapping', 'evalSha', 'eval')

const isUnknownScript = (error: unknown): boolean =>
	error instanceof Error && error.message.startsWith('NOSCRIPT')

/** What the clients take for bytes. */
interface BufferConstructor {
	from(buffer: ArrayBufferLike, byteOffset: number, length: number): Uint8Array
}

interface BufferModule {
	readonly Buffer: BufferConstructor
}

/** `node:buffer` is not imported: bundles for browsers and the edge would need it. */
function nodeBuffer(): BufferConstructor {
	const { Buffer = builtinModule<BufferModule>('node:buffer')?.Buffer } = globalThis as Partial<BufferModule>
	if (Buffer) return Buffer
	throw new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_BUFFER',
		'redisIdempotencyStore needs node:buffer, which this runtime does not have. Use a runtime that has it, or another store.',
	)
}

/** Returns a Buffer on the same memory. */
const toBuffer = (argument: Argument): Argument =>
	typeof argument === 'string'
		? argument
		: nodeBuffer().from(argument.buffer, argument.byteOffset, argument.byteLength)
