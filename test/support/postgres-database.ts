/**
 * Creates an empty database for a test file on a real PostgreSQL: on the server of DATABASE_URL, or on the one that all test files of the run
 * share. The database is dropped afterwards.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { VARIABLE } from './shared-postgres.ts'

export interface PostgresDatabase extends AsyncDisposable {
	readonly url: string
	/** For `new pg.Pool(connection)`. */
	readonly connection: { readonly connectionString: string }
}

export async function postgresDatabase(): Promise<PostgresDatabase> {
	const given = process.env['DATABASE_URL']
	return freshDatabase(given !== undefined && given !== '' ? given : await sharedServer())
}

/** Returns the URL of the server that all test files share. */
async function sharedServer(): Promise<string> {
	const response = await fetch(process.env[VARIABLE] ?? '')
	const text = await response.text()
	if (!response.ok) throw new Error(text)
	return text
}

/** A forgotten connection must not keep the server running forever. */
const MAX_CHECKS = 5_000

/**
 * Waits until all connections are closed. A pool resolves `end` earlier, and a connection that the server terminates then throws where no
 * handler can catch it.
 */
async function connectionsClosed(url: string): Promise<void> {
	const client = new pg.Client({ connectionString: url })
	await client.connect()
	const remaining = `select from pg_stat_activity
		where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
	for (let check = 0; check < MAX_CHECKS; check++) {
		if ((await client.query(remaining)).rows.length === 0) break
	}
	await client.end()
}

async function freshDatabase(given: string): Promise<PostgresDatabase> {
	const name = `yaoki_test_${randomBytes(6).toString('hex')}`
	const admin = async (sql: string) => {
		const client = new pg.Client({ connectionString: given })
		await client.connect()
		try {
			await client.query(sql)
		} finally {
			await client.end()
		}
	}
	await admin(`create database ${name}`)
	const url = new URL(given)
	url.pathname = `/${name}`
	return {
		url: url.href,
		connection: { connectionString: url.href },
		[Symbol.asyncDispose]: async () => {
			await connectionsClosed(url.href)
			await admin(`drop database if exists ${name} with (force)`)
		},
	}
}
