/** Runs the suite in a process of Node, Bun or Deno, and two small programs that must exit by themselves. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { guard } from '../../test/guard/guard.ts'
import { npm, ROOT, readJson } from '../tools.ts'
import type { Outcome, Runtime, Site } from './runtime.ts'

/** Where the runtimes are installed that the root project does not have. */
const HOME = join(ROOT, 'test', 'runtimes')
const bin = (home: string, command: string): string => join(home, 'node_modules', '.bin', command)
/** By its path: two versions of Node in one folder both claim .bin/node. */
const node = (home: string, name = 'node'): string => join(home, 'node_modules', name, 'bin', 'node')

/** Deno gets access to the network and the folder only: the package itself needs no permission. An outbox reads and writes files, and reads when the computer was started. */
const denoRun = (file: string): string[] => {
	const usual = [
		'--allow-net=127.0.0.1',
		'--allow-read=.',
		...(file === 'required.cjs' ? ['--allow-sys'] : []),
	]
	const permissions = file === 'outbox.js' ? ['--allow-all'] : usual
	return ['run', '--no-lock', '--node-modules-dir=manual', ...permissions, file]
}

export const NODE_22: string = node(HOME)
export const NODE_24: string = node(ROOT)

export const processes: readonly Runtime[] = [
	inProcess('Node 22', NODE_22),
	inProcess('Node 24', NODE_24),
	inProcess('Node 26', node(HOME, 'node-26')),
	inProcess('Bun', bin(HOME, 'bun')),
	inProcess('Deno', bin(HOME, 'deno'), denoRun),
]

export const installRuntimes = (): void => installIn(HOME)

/** Installs the dependencies of a folder under test/ if one is missing or does not have the pinned version. */
export function installIn(home: string, command: readonly string[] = ['ci']): void {
	const wanted = readJson(join(home, 'package.json'))['devDependencies'] as Record<string, string>
	const isThere = ([name, version]: [string, string]) => {
		try {
			const installed = readJson(join(home, 'node_modules', name, 'package.json'))['version']
			// An alias such as npm:node@26.0.0 ends with the version.
			return installed === version.split('@').at(-1)
		} catch {
			return false
		}
	}
	if (Object.entries(wanted).every(isThere)) return
	console.log(`Installing ${Object.keys(wanted).join(', ')} ...`)
	const { ok, output } = npm([...command, '--no-audit', '--no-fund'], home)
	if (!ok) throw new Error(`npm ${command.join(' ')} in ${home} failed:\n${output}`)
}

function inProcess(name: string, command: string, toRun = (file: string): string[] => [file]): Runtime {
	return {
		name,
		async run({ home, urls }: Site) {
			const { stdout } = await start(command, ['--version'], home)
			const suite = await start(command, [...toRun('main.js'), JSON.stringify(urls)], home)
			const required = await start(command, toRun('required.cjs'), home)
			const outcomes = [
				resultOf(suite) ?? failure('the suite', suite),
				resultOf(required) ?? failure('require', required),
				await prints('ended', 'a deadline without a waiting call lets the process end', 'ends.js', home),
				await prints('waited', 'a wait keeps the process alive until it ends', 'waits.js', home),
				await prints('delivered', 'an outbox in SQLite delivers a message', 'outbox.js', home),
				await prints(
					'delivered',
					'an outbox in PostgreSQL delivers a message',
					'outbox.js',
					home,
					urls.postgresUrl,
				),
				await prints('ended', 'an unread body lets the process end', 'unread.js', home, urls.faultyUrl),
			]
			return {
				version: stdout.match(/\d+\.\d+\.\d+/)?.[0] ?? 'unknown',
				passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
				failed: outcomes.flatMap(({ failed }) => failed),
				skipped: outcomes.flatMap(({ skipped }) => skipped),
			}
		},
	}

	/** A process that does not exit in time is killed and counts as a failure. */
	async function prints(
		word: string,
		promise: string,
		file: string,
		home: string,
		...given: readonly string[]
	): Promise<Outcome> {
		const ended = await start(command, [...toRun(file), ...given], home, { timeout: 120_000 })
		if (ended.ok && ended.stdout.trim() === word) return { passed: 1, failed: [], skipped: [] }
		return failure(promise, {
			...ended,
			report: `${ended.report}It should have printed "${word}" and ended.`,
		})
	}
}

interface Ended {
	readonly ok: boolean
	readonly stdout: string
	readonly report: string
}

export function start(
	command: string,
	args: readonly string[],
	cwd: string,
	{ timeout = 120_000, env = process.env }: { timeout?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
	return new Promise((resolve) => {
		const child = execFile(
			command,
			args,
			{ cwd, env, timeout, maxBuffer: 2 ** 26, killSignal: 'SIGKILL' },
			(error, stdout, stderr) => {
				const how = error ? `${error.killed ? `killed after ${timeout} ms` : error.message}\n` : ''
				resolve({ ok: error === null, stdout, report: how + stdout + stderr })
			},
		)
		guard(child)
	})
}

const failure = (name: string, { report }: Ended): Outcome => ({
	passed: 0,
	failed: [{ name, error: report }],
	skipped: [],
})

function resultOf({ ok, stdout }: Ended): Outcome | undefined {
	return ok ? JSON.parse(stdout.trim().split('\n').at(-1) ?? '') : undefined
}
