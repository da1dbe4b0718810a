/**
 * Runs the tools of the project the same way on every system: by their entry files, with the Node that runs this script. The system's
 * Node may be older, and node_modules/.bin contains different files on different systems.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('..', import.meta.url))

/** The exit status and the output of a program. */
export interface Ran {
	readonly ok: boolean
	readonly stdout: string
	/** Standard output followed by standard error. */
	readonly output: string
}

export const readJson = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, 'utf8'))

export function run(
	command: string,
	args: readonly string[],
	options: { cwd?: string; input?: string } = {},
): Ran {
	const ran = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26, ...options })
	const why = ran.error ? `${command}: ${ran.error.message}\n` : ''
	const stdout = ran.stdout ?? ''
	return { ok: ran.status === 0, stdout, output: `${stdout}${ran.stderr ?? ''}${why}` }
}

/** Runs a command of an installed package: `tool('typescript', 'tsc', ['--version'])`. */
export function tool(name: string, command: string, args: readonly string[], input?: string): Ran {
	const home = join(ROOT, 'node_modules', name)
	const { bin } = readJson(join(home, 'package.json'))
	const entry = typeof bin === 'string' ? bin : (bin as Record<string, string>)[command]
	if (entry === undefined) throw new Error(`${name} has no command ${command}`)
	return run(process.execPath, [join(home, entry), ...args], input === undefined ? {} : { input })
}

export const tsc = (...args: readonly string[]): Ran => tool('typescript', 'tsc', args)

/** On Windows npm is a shell script. Elsewhere a shell would only change the arguments. */
export const npm = (args: readonly string[], cwd: string = ROOT): Ran =>
	process.platform === 'win32' ? run('cmd', ['/c', 'npm', ...args], { cwd }) : run('npm', args, { cwd })

/** Runs programs one after the other until one fails. */
export function inTurn(...runs: readonly (() => Ran)[]): Ran {
	let all: Ran = { ok: true, stdout: '', output: '' }
	for (const next of runs) {
		const ran = next()
		all = { ok: ran.ok, stdout: all.stdout + ran.stdout, output: all.output + ran.output }
		if (!ran.ok) break
	}
	return all
}
