/** Starts servers and prints which, then waits to be killed. PostgreSQL runs a statement, so that it has a busy process. */
import pg from 'pg'
import { startPostgres } from '../support/real-postgres.ts'
import { HAS_REDIS, startRedis } from '../support/real-redis.ts'

export interface Started {
	/** Of the process that started the servers. */
	readonly pid: number
	/** The folders of the servers. */
	readonly folders: readonly string[]
}

export async function startServers(): Promise<Started> {
	const postgres = await startPostgres()
	const client = new pg.Client(postgres.connection)
	await client.connect()
	const { rows } = await client.query('show data_directory')
	client.query('select pg_sleep(1000)').catch(() => {})
	client.on('error', () => {})
	const folders = [String(rows[0].data_directory).replace(/\/data$/, '')]
	if (HAS_REDIS) folders.push((await startRedis()).home)
	return { pid: process.pid, folders }
}

if (import.meta.main) {
	process.send?.(await startServers())
	await new Promise(() => {})
}
