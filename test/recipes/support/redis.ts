/** A real Redis on a Unix socket in a temporary folder. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { end, guard, guardedFolder } from '../../guard/guard.ts'

/** Debian's; undefined if it is not installed. */
export const REDIS: string | undefined = ['/usr/bin/redis-server'].find(existsSync)

export async function startRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
	if (REDIS === undefined) throw new Error('redis-server is not installed (apt-get install redis-server)')
	const folder = await guardedFolder('yaoki-redis-')
	const url = join(folder.path, 'redis.sock')
	const options = [
		'--port',
		'0',
		'--unixsocket',
		url,
		'--dir',
		folder.path,
		'--save',
		'',
		'--appendonly',
		'no',
	]
	const child = spawn(REDIS, options, { stdio: ['ignore', 'pipe', 'inherit'] })
	guard(child)
	const log: string[] = []
	for await (const line of createInterface({ input: child.stdout })) {
		log.push(line)
		if (!line.includes('The server is now ready to accept connections at')) continue
		child.stdout.resume()
		return {
			url,
			async stop() {
				await end(child)
				await folder[Symbol.asyncDispose]()
			},
		}
	}
	throw new Error(`redis-server did not start:\n${log.join('\n')}`)
}
