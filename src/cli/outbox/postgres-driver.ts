/**
 * `pg`, loaded when a database of postgres:// is named and not before: who has SQLite only need not install it. It is looked for beside
 * this package, and then where the user stands, since a global `yaoki` does not see a project's drivers.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { CliError } from '../errors.ts'
import type { PostgresTarget } from './target.ts'

/** A person waits for it. */
const CONNECT_WITHIN_MS = 5000

export async function postgresPool({ url }: PostgresTarget, max = 4): Promise<Pool> {
	const driver = await import('pg').catch(() => fromWorkingFolder())
	const pool = new driver.Pool({
		...{ connectionString: url, max, connectionTimeoutMillis: CONNECT_WITHIN_MS },
		...{ application_name: 'yaoki', allowExitOnIdle: true },
	})
	// A connection that breaks while nobody uses it is an event, and one that nobody hears ends the process; also of one that is on its way out.
	pool.on('error', () => {})
	pool.on('connect', (client) => client.on('error', () => {}))
	return pool
}

function fromWorkingFolder(): typeof import('pg') {
	try {
		return createRequire(join(process.cwd(), 'package.json'))('pg')
	} catch (cause) {
		throw new CliError('failure', "PostgreSQL takes the driver 'pg', which is not installed", {
			hint: 'npm install pg',
			cause,
		})
	}
}
