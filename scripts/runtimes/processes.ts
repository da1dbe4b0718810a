/** Runs the suite in a process of Node, Bun or Deno, and two small programs that must exit by themselves. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { npm, ROOT, readJson } from '../tools.ts'
import type { Outcome, Runtime, Site } from './runtime.ts'

/** Where the runtimes are installed that the root project does not have. */
const HOME = join(ROOT, 'test', 'runtimes')
const bin = (home: string, command: string): string => join(home, 'node_modules', '.bin', command)
/** By its path: two versions of Node in one folder both claim .bin/node. */
const node = (home: string, name = 'node'): string => join(home, 'node_modules', name, 'bin', 'node')

/** Deno gets access to the network and the folder only: the package itself needs no permission. */
const DENO = ['run', '--no-lock', '--node-modules-dir=manual', '--allow-net=127.0.0.1', '--allow-read=.']

export const processes: readonly Runtime[] = [
	inProcess('Node 22', node(HOME)),
	inProcess('Node 24', node(ROOT)),
	inProcess('Node 26', node(HOME, 'node-26')),
	inProcess('Bun', bin(HOME, 'bun')),
	inProcess('Deno', bin(HOME, 'deno'), DENO),
]

/** Installs runtimes that are missing or do not have the pinned version. */
export function installRuntimes(): void {
	const wanted = readJson(join(HOME, 'package.json'))['devDependencies'] as Record<string, string>
	const isThere = ([name, version]: [string, string]) => {
		try {
			const installed = readJson(join(HOME, 'node_modules', name, 'package.json'))['version']
			// An alias such as npm:node@26.0.0 ends with the version.
			return installed === version.split('@').at(-1)
		} catch {
			return false
		}
	}
	if (Object.entries(wanted).every(isThere)) return
	console.log('Installing the runtimes ...')
	const { ok, output } = npm(['ci', '--no-audit', '--no-fund'], HOME)
	if (!ok) throw new Error(`npm ci in test/runtimes failed:\n${output}`)
}

function inProcess(name: string, command: string, args: readonly string[] = []): Runtime {
	return {
		name,
		async run({ home, urls }: Site) {
			const { stdout } = await start(command, ['--version'], home)
			const suite = await start(command, [...args, 'main.js', JSON.stringify(urls)], home)
			const outcomes = [
				resultOf(suite) ?? failure('the suite', suite),
				await prints('ended', 'a deadline without a waiting call lets the process end', 'ends.js', home),
				await prints('waited', 'a wait keeps the process alive until it ends', 'waits.js', home),
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
		const ended = await start(command, [...args, file, ...given], home, 15_000)
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

function start(command: string, args: readonly string[], cwd: string, timeout = 120_000): Promise<Ended> {
	return new Promise((resolve) => {
		execFile(command, args, { cwd, timeout, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
			const how = error ? `${error.killed ? `killed after ${timeout} ms` : error.message}\n` : ''
			resolve({ ok: error === null, stdout, report: how + stdout + stderr })
		})
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
