/** What all commands do to open a database. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { CliError } from '../errors.ts'
import type { DatabaseTarget, PostgresTarget } from './database-target.ts'

/** Rejects a missing SQLite file: a misspelled name must not look like an empty database. `group` is that of the command: `outbox`. */
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
 * An aborted signal ends all connections. Loads `pg` only for a PostgreSQL database, so that SQLite users need not install it. It is searched next to this package and
 * then in the working directory, because a global `yaoki` does not see the drivers of a project.
 */
export async function openPostgresPool(
	{ url }: Pick<PostgresTarget, 'url'>,
	signal?: AbortSignal,
): Promise<Pool> {
	const driver = await import('pg').catch(() => requireFromWorkingDirectory())
	const pool = new driver.Pool({
		...{
			connectionString: url || undefined,
			max: MAX_CONNECTIONS,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		},
		...{ application_name: 'yaoki', allowExitOnIdle: true },
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

function requireFromWorkingDirectory(): typeof import('pg') {
	try {
		return createRequire(join(process.cwd(), 'package.json'))('pg')
	} catch (cause) {
		throw new CliError('failure', 'PostgreSQL requires the package "pg", which is not installed.', {
			hint: 'npm install pg',
			cause,
		})
	}
}
