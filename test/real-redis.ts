/** A real Redis for tests, on loopback, without persistence. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deadPort } from './core/classify/fault-server.ts'

/** Debian's. */
const PROGRAM = '/usr/bin/redis-server'

/** False where tests with Redis are skipped. In CI they fail instead, so that none is skipped unnoticed. */
export const HAS_REDIS: boolean = existsSync(PROGRAM) || Boolean(process.env['CI'])

export interface RealRedis extends AsyncDisposable {
	readonly port: number
	readonly url: string
	/** Kills the server, and starts an empty one on the same port. */
	restart(): Promise<void>
}

export async function startRedis(...settings: readonly string[]): Promise<RealRedis> {
	const home = await mkdtemp(join(tmpdir(), 'yaoki-redis-'))
	const port = await deadPort()
	const flags = [
		'--port',
		String(port),
		'--bind',
		'127.0.0.1',
		'--dir',
		home,
		'--save',
		'',
		'--appendonly',
		'no',
	]
	let server: ChildProcess | undefined
	const start = async () => {
		server = spawn(PROGRAM, [...flags, ...settings], { stdio: ['ignore', 'pipe', 'pipe'] })
		await isReady(server)
	}
	const kill = async () => {
		if (server && server.exitCode === null && server.kill('SIGKILL')) await once(server, 'exit')
	}
	const stop = async () => {
		await kill()
		await rm(home, { recursive: true, force: true })
	}
	try {
		await start()
	} catch (error) {
		await stop()
		throw error
	}
	return {
		port,
		url: `redis://127.0.0.1:${port}`,
		async restart() {
			await kill()
			await start()
		},
		[Symbol.asyncDispose]: stop,
	}
}

/** Rejects with the server's output if it ends before. */
function isReady(server: ChildProcess): Promise<void> {
	let output = ''
	return new Promise((resolve, reject) => {
		const onData = (chunk: unknown) => {
			output += chunk
			if (/Ready to accept connections/.test(output)) resolve()
		}
		server.stdout?.on('data', onData)
		server.stderr?.on('data', onData)
		server.once('error', reject)
		server.once('close', () => reject(new Error(`redis-server did not start:\n${output}`)))
	})
}
