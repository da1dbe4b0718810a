/**
 * An empty database of a test file's own on a real PostgreSQL: on the server that DATABASE_URL names, or on one that is started for
 * it. It is gone afterwards.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { startPostgres } from '../real-postgres.ts'

export interface PostgresDatabase extends AsyncDisposable {
	readonly url: string
	/** For `new pg.Pool(connection)`. */
	readonly connection: { readonly connectionString: string }
}

export async function postgresDatabase(): Promise<PostgresDatabase> {
	const given = process.env['DATABASE_URL']
	if (given !== undefined && given !== '') return freshDatabase(given)
	const server = await startPostgres()
	const { user, password, host, port, database } = server.connection
	const url = `postgres://${user}:${password}@${host}:${port}/${database}`
	return {
		url,
		connection: { connectionString: url },
		[Symbol.asyncDispose]: async () => {
			await othersLeft(url)
			await server[Symbol.asyncDispose]()
		},
	}
}

/** How often it is looked whether the connections are gone. One that was forgotten must not keep the server running. */
const MOST_LOOKS = 5_000

/**
 * A pool says that it has ended before its connections are gone, and one of them that the server ends in that moment throws where
 * nobody can catch it.
 */
async function othersLeft(url: string): Promise<void> {
	const client = new pg.Client({ connectionString: url })
	await client.connect()
	const others = `select from pg_stat_activity
		where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
	for (let look = 0; look < MOST_LOOKS; look++) {
		if ((await client.query(others)).rows.length === 0) break
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
			await othersLeft(url.href)
			await admin(`drop database if exists ${name} with (force)`)
		},
	}
}
