/**
 * The PostgreSQL that the outbox is measured on: the one of `DATABASE_URL`, else one of this run's own. Durable as PostgreSQL comes, for a
 * commit that does not wait for the disk flatters whoever commits most often; so a server that is set up otherwise is refused.
 * Every contender gets a database of its own, made anew and gone afterwards.
 */
import pg from 'pg'
import { startPostgres } from '../../test/real-postgres.ts'

/** As PostgreSQL comes, in the place of what tests are given. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', deadlock_timeout: '1s' }

export interface Server extends AsyncDisposable {
	/** Which PostgreSQL, and how durable it is. */
	readonly about: string
	/** A database that is empty; answers its URL. */
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

/** With `stop` the databases are gone with their server. */
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
	const said: string[] = []
	for (const name of ['fsync', 'synchronous_commit']) {
		const value = await show(name)
		if (value !== 'on') throw new Error(`the outbox is measured with ${name} on, and here it is ${value}`)
		said.push(`${name} ${value}`)
	}
	return `PostgreSQL ${version}, ${said.join(', ')}`
}
