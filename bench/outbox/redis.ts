/** Starts a Redis with default settings, if `redis-server` is on the PATH. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { end, guard, guardedFolder } from '../../test/guard/guard.ts'

export interface Redis extends AsyncDisposable {
	readonly url: string
}

/** Returns undefined if it is not installed. */
export async function startRedis(): Promise<Redis | undefined> {
	const home = await guardedFolder('yaoki-redis-')
	const port = await freePort()
	const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', home.path])
	guard(server)
	const stop = async () => {
		await end(server)
		await home[Symbol.asyncDispose]()
	}
	if (await isReady(server)) return { url: `redis://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop }
	await stop()
	return undefined
}

/** Resolves to false if the program does not exist; rejects with its output if it exits. */
function isReady(server: ChildProcess): Promise<boolean> {
	let output = ''
	return new Promise((resolve, reject) => {
		server.stdout?.on('data', (chunk) => {
			output += chunk
			if (/Ready to accept connections/.test(output)) resolve(true)
		})
		server.once('error', () => resolve(false))
		server.once('exit', () => reject(new Error(`redis-server did not start:\n${output}`)))
	})
}

async function freePort(): Promise<number> {
	const server = createServer()
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	const address = server.address()
	server.close()
	await once(server, 'close')
	if (typeof address !== 'object' || !address) throw new Error('no free port')
	return address.port
}
