/**
 * Opens Redis by the client that the user has installed, ioredis or node-redis. Both are searched next to this package and then in the working
 * directory, as `pg` is. A command does not wait for a server that comes back: it fails, and the user repeats it.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { RedisClient } from '../../idempotency/store/redis/clients.ts'
import { CliError, errorMessage } from '../errors.ts'
import { removeSecrets } from './database-errors.ts'
import type { RedisTarget } from './database-target.ts'

export interface OpenRedis {
	readonly client: RedisClient
	close(): void
}

/** Short because a person waits for it. */
const CONNECT_TIMEOUT_MS = 5_000

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

const PACKAGES = ['ioredis', 'redis', '@redis/client']

export async function openRedis(target: RedisTarget): Promise<OpenRedis> {
	const connection = createConnection(await loadClient(), target.url)
	let failure: unknown
	// Without a listener, a lost connection ends the process. ioredis reports the cause of a failed connection only here.
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
			...{ lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS },
			...{ maxRetriesPerRequest: 0, retryStrategy: () => null },
		})
	if (createClient)
		return createClient({ url, socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false } })
	if (rest.default) return createConnection(rest.default, url)
	throw missingClient()
}

async function loadClient(): Promise<RedisModule> {
	const fromProject = createRequire(join(process.cwd(), 'package.json'))
	for (const name of PACKAGES) {
		const found = await import(name).catch(() => requireOrUndefined(fromProject, name))
		if (found) return found
	}
	throw missingClient()
}

function requireOrUndefined(require: NodeJS.Require, name: string): RedisModule | undefined {
	try {
		return require(name)
	} catch {
		return undefined
	}
}

const missingClient = (): CliError =>
	new CliError('failure', 'Redis requires the package "ioredis" or "redis", and none is installed.', {
		hint: 'npm install ioredis',
	})
