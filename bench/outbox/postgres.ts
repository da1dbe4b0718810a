/**
 * The PostgreSQL of the benchmarks: `DATABASE_URL`, or one that this run starts. With default durability, because commits that do not wait for the disk
 * would favor contenders that commit often; a server with other settings is rejected. Every contender gets a new database, which is dropped
 * afterwards.
 */
import pg from 'pg'
import { startPostgres } from '../../test/support/real-postgres.ts'

/** PostgreSQL's defaults, instead of the settings for tests. */
export const DURABLE = {
	fsync: 'on',
	synchronous_commit: 'on',
	full_page_writes: 'on',
	deadlock_timeout: '1s',
}

export interface Server extends AsyncDisposable {
	/** Version and durability settings. */
	readonly about: string
	/** Creates an empty database; returns its URL. */
	database(name: string): Promise<string>
}

export async function openServer(): Promise<Server> {
	const given = process.env['DATABASE_URL']
	if (given) return serverAt(given)
	const own = await startPostgres(DURABLE)
	const { user, password, host, port, database } = own.connection
	const stop = () => Promise.resolve(own[Symbol.asyncDispose]())
	try {
		return await serverAt(`postgres://${user}:${password}@${host}:${port}/${database}`, stop)
	} catch (error) {
		await stop()
		throw error
	}
}

/** With `stop` the databases are removed with their server. */
async function serverAt(url: string, stop?: () => Promise<void>): Promise<Server> {
	const admin = new pg.Client({ connectionString: url })
	await admin.connect()
	const made: string[] = []
	const dispose = async () => {
		if (!stop) for (const name of made) await admin.query(`drop database if exists ${name} with (force)`)
		await admin.end()
		await stop?.()
	}
	try {
		const about = await durabilityOf(admin)
		return {
			about,
			async database(name) {
				const own = `yaoki_bench_${process.pid}_${name.toLowerCase().replaceAll(/\W/g, '_')}`
				await admin.query(`create database ${own}`)
				made.push(own)
				const its = new URL(url)
				its.pathname = `/${own}`
				return its.href
			},
			[Symbol.asyncDispose]: dispose,
		}
	} catch (error) {
		await admin.end()
		throw error
	}
}

async function durabilityOf(admin: pg.Client): Promise<string> {
	const show = async (name: string): Promise<string> =>
		(await admin.query(`select current_setting('${name}') as value`)).rows[0].value
	const version = await show('server_version')
	const settings: string[] = []
	for (const name of ['fsync', 'synchronous_commit']) {
		const value = await show(name)
		if (value !== 'on') throw new Error(`the benchmark requires ${name} = on, but it is ${value}`)
		settings.push(`${name} ${value}`)
	}
	return `PostgreSQL ${version}, ${settings.join(', ')}`
}
