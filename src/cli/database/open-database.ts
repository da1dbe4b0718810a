/** Opens the databases of commands. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { RedisClient } from '../../idempotency/store/redis/clients.ts'
import { CliError, errorMessage } from '../errors.ts'
import { removeSecrets } from './database-errors.ts'
import type { DatabaseTarget, PostgresTarget, RedisTarget } from './database-target.ts'

/** Rejects a missing SQLite file: a misspelled name must not look like an empty database. */
export function requireFile(target: DatabaseTarget, group: string): void {
	if (target.kind === 'sqlite' && !existsSync(target.file))
		throw new CliError('unreachable', `Database file "${target.name}" does not exist.`, {
			hint: `Create it with 'yaoki ${group} migrate${target.flags}', or select another with --database.`,
		})
}

/** Short because a person waits for it. */
const CONNECT_TIMEOUT_MS = 5000
const MAX_CONNECTIONS = 4

/**
 * An aborted signal ends all connections. Loads `pg` only for a PostgreSQL database, so that SQLite users
 * need not install it. It is searched next to this package and then in the working directory, because a
 * global `yaoki` does not see the drivers of a project.
 */
export async function openPostgresPool(
	{ url }: Pick<PostgresTarget, 'url'>,
	signal?: AbortSignal,
): Promise<Pool> {
	const message = 'PostgreSQL requires the package "pg", which is not installed.'
	const driver = await loadDriver<typeof import('pg')>(['pg'], message)
	const pool = new driver.Pool({
		connectionString: url || undefined,
		max: MAX_CONNECTIONS,
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		application_name: 'yaoki',
		allowExitOnIdle: true,
	})
	// An idle or closing connection that breaks emits 'error'; without a listener that ends the process.
	pool.on('error', () => {})
	pool.on('connect', (client) => {
		client.on('error', () => {})
		// Ends the connection although a statement runs. The server notices when it has the result.
		const end = () => void client.end().catch(() => {})
		if (signal?.aborted) end()
		else signal?.addEventListener('abort', end)
	})
	return pool
}

/** Loads the first of these packages that is installed, next to this package or in the working directory. */
async function loadDriver<Module>(names: readonly string[], message: string): Promise<Module> {
	const requireFromProject = createRequire(join(process.cwd(), 'package.json'))
	let cause: unknown
	for (const name of names) {
		try {
			return await import(name).catch(() => requireFromProject(name))
		} catch (error) {
			cause = error
		}
	}
	throw new CliError('failure', message, { hint: `npm install ${names[0]}`, cause })
}

interface Connection {
	on(event: 'error', listener: (error: unknown) => void): unknown
	connect(): Promise<unknown>
	/** The closing method of an ioredis client. */
	disconnect?(): unknown
	/** The closing method of a node-redis client. */
	destroy?(): unknown
}

/** The modules of both clients, as far as they are used. */
interface RedisModule {
	readonly Redis?: new (url: string, options: object) => Connection
	readonly createClient?: (options: object) => Connection
	readonly default?: RedisModule
}

const REDIS_CLIENTS = ['ioredis', 'redis', '@redis/client']
const NO_REDIS_CLIENT = 'Redis requires the package "ioredis" or "redis", and none is installed.'

/**
 * Opens Redis by the client that the user has installed, ioredis or node-redis. Both are searched next to
 * this package and then in the working directory, as `pg` is. A command does not wait for a server that comes
 * back: it fails, and the user repeats it.
 */
export async function openRedis(target: RedisTarget) {
	const connection = createConnection(await loadDriver(REDIS_CLIENTS, NO_REDIS_CLIENT), target.url)
	let failure: unknown
	// Without a listener, a lost connection ends the process. ioredis reports the cause of a failed connection
	// only here.
	connection.on('error', (error) => {
		failure ??= error
	})
	const close = () => void (connection.destroy ? connection.destroy() : connection.disconnect?.())
	try {
		await connection.connect()
	} catch (error) {
		try {
			close()
		} catch {
			// node-redis is closed already.
		}
		const message = removeSecrets(errorMessage(failure ?? error), target)
		throw new CliError('unreachable', `Cannot reach ${target.name}: ${message}`)
	}
	return { client: connection as unknown as RedisClient, close }
}

function createConnection({ Redis, createClient, ...rest }: RedisModule, url: string): Connection {
	if (Redis)
		return new Redis(url, {
			lazyConnect: true,
			connectTimeout: CONNECT_TIMEOUT_MS,
			maxRetriesPerRequest: 0,
			retryStrategy: () => null,
		})
	if (createClient)
		return createClient({ url, socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false } })
	if (rest.default) return createConnection(rest.default, url)
	throw new CliError('failure', NO_REDIS_CLIENT, { hint: 'npm install ioredis' })
}
