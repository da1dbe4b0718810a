/** A real Redis for tests, on loopback, without persistence. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { deadPort } from '../core/classify/fault-server.ts'
import { end, guard, guardedFolder } from '../guard/guard.ts'

/** Debian's. */
const PROGRAM = '/usr/bin/redis-server'

/** False where tests with Redis are skipped. In CI they fail instead, so that none is skipped unnoticed. */
export const HAS_REDIS: boolean = existsSync(PROGRAM) || Boolean(process.env['CI'])

export interface RealRedis extends AsyncDisposable {
	readonly port: number
	readonly url: string
	/** The folder of its data. */
	readonly home: string
	/** Kills the server, and starts an empty one on the same port. */
	restart(): Promise<void>
}

export async function startRedis(...settings: readonly string[]): Promise<RealRedis> {
	const home = await guardedFolder('yaoki-redis-')
	const port = await deadPort()
	const flags = [
		'--port',
		String(port),
		'--bind',
		'127.0.0.1',
		'--dir',
		home.path,
		'--save',
		'',
		'--appendonly',
		'no',
	]
	let server: ChildProcess | undefined
	const start = async () => {
		server = spawn(PROGRAM, [...flags, ...settings], { stdio: ['ignore', 'pipe', 'pipe'] })
		guard(server)
		await isReady(server)
	}
	const kill = async () => {
		if (server) await end(server)
	}
	const stop = async () => {
		await kill()
		await home[Symbol.asyncDispose]()
	}
	try {
		await start()
	} catch (error) {
		await stop()
		throw error
	}
	return {
		port,
		home: home.path,
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
