/** A pgbouncer of this test run's own, in transaction mode: each transaction may use another connection of the server. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deadPort } from '../../core/classify/fault-server.ts'
import { end, guard, guardedFolder } from '../../guard/guard.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** CI must not skip it. */
export const hasPgbouncer: boolean = existsSync(PROGRAM) || Boolean(process.env['CI'])

export interface Pgbouncer extends AsyncDisposable {
	readonly url: string
}

/** Connects to the server of `url` with `poolSize` connections. */
export async function startPgbouncer(url: string, poolSize: number): Promise<Pgbouncer> {
	const { hostname, port, username, password, pathname } = new URL(url)
	const name = pathname.slice(1)
	const folder = await guardedFolder('yaoki-pgbouncer-')
	const listenPort = await deadPort()
	const file = join(folder.path, 'pgbouncer.ini')
	await writeFile(
		file,
		`[databases]
${name} = host=${hostname} port=${port} dbname=${name} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
ignore_startup_parameters = extra_float_digits
`,
	)
	await chmod(folder.path, 0o755)
	// It does not run as root.
	const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
	const program = spawn(PROGRAM, [file], { ...as, stdio: ['ignore', 'ignore', 'pipe'] })
	guard(program)
	let output = ''
	await new Promise<void>((resolve, reject) => {
		program.stderr?.on('data', (chunk) => {
			output += chunk
			if (output.includes('process up')) resolve()
		})
		program.once('error', reject)
		program.once('exit', () => reject(new Error(`pgbouncer did not start:\n${output}`)))
	})
	return {
		url: `postgres://${username}@127.0.0.1:${listenPort}/${name}`,
		async [Symbol.asyncDispose]() {
			await end(program, 'SIGINT')
			await folder[Symbol.asyncDispose]()
		},
	}
}
