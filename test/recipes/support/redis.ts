/** A real Redis on a Unix socket in a temporary folder. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Debian's; undefined if it is not installed. */
export const REDIS: string | undefined = ['/usr/bin/redis-server'].find(existsSync)

export async function startRedis(): Promise<{ readonly url: string; stop(): void }> {
	if (REDIS === undefined) throw new Error('redis-server is not installed (apt-get install redis-server)')
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-redis-'))
	const url = join(folder, 'redis.sock')
	const options = ['--port', '0', '--unixsocket', url, '--dir', folder, '--save', '', '--appendonly', 'no']
	const child = spawn(REDIS, options, { stdio: ['ignore', 'pipe', 'inherit'] })
	const log: string[] = []
	for await (const line of createInterface({ input: child.stdout })) {
		log.push(line)
		if (!line.includes('The server is now ready to accept connections at')) continue
		child.stdout.resume()
		return {
			url,
			stop() {
				child.kill('SIGKILL')
				rmSync(folder, { recursive: true, force: true })
			},
		}
	}
	throw new Error(`redis-server did not start:\n${log.join('\n')}`)
}
