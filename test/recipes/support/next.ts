/** Processes of Next. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { guard } from '../../guard/guard.ts'

const NEXT = createRequire(import.meta.url).resolve('next/dist/bin/next')

/** Next compiles for minutes on a slow machine. */
export const LIMIT = { timeout: 600_000 }

type Environment = Readonly<Record<string, string>>

function next(folder: string, given: Environment, ...args: readonly string[]): ChildProcess {
	const { NODE_ENV: _, ...env } = process.env
	const child = spawn(process.execPath, [NEXT, ...args], {
		cwd: folder,
		env: { ...env, ...given, NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1' },
		stdio: ['ignore', 'pipe', 'inherit'],
		// A group of its own, to end its workers too.
		detached: true,
	})
	guard(child, { isGroup: true })
	onTestFinished(() => {
		if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
	})
	return child
}

/** Builds an application for production. */
export async function buildNext(folder: string, given: Environment = {}): Promise<void> {
	const child = next(folder, given, 'build')
	let log = ''
	child.stdout?.on('data', (data) => {
		log += data
	})
	const [code] = await once(child, 'close')
	if (code !== 0) throw new Error(`next build ended with ${code}:\n${log}`)
}

/** Starts a server of Next, and returns its URL. */
export async function startNext(
	folder: string,
	command: 'start' | 'dev',
	given: Environment = {},
): Promise<string> {
	const { stdout } = next(folder, given, command, '--port', '0', '--hostname', '127.0.0.1')
	if (stdout === null) throw new Error('it has no output')
	const log: string[] = []
	let url: string | undefined
	for await (const line of createInterface({ input: stdout })) {
		log.push(line)
		url ??= /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
		if (url === undefined || !line.includes('Ready')) continue
		stdout.resume()
		return url
	}
	throw new Error(`next ${command} ended:\n${log.join('\n')}`)
}
