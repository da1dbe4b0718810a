/** A real process. Tests wait for what it prints instead of a duration. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { guard } from '../guard/guard.ts'

export const MAIN: string = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
export const TEST_PROGRAM: string = fileURLToPath(new URL('./programs/wait-and-print.ts', import.meta.url))

export interface SpawnOptions {
	readonly node?: readonly string[]
	readonly stdio?: StdioOptions
	readonly env?: Readonly<Record<string, string>>
	readonly cwd?: URL
}

export class Spawned {
	readonly process: ChildProcess
	stdout = ''
	stderr = ''
	readonly #closed: Promise<unknown[]>

	constructor(
		file: string,
		args: readonly string[],
		{ node = [], stdio = 'pipe', env = {}, cwd }: SpawnOptions = {},
	) {
		// The environment is empty by default: the test runner sets color variables.
		this.process = guard(spawn(process.execPath, [...node, file, ...args], { stdio, env, cwd }))
		this.#closed = once(this.process, 'close')
		this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
			this.stdout += text
		})
		this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
			this.stderr += text
		})
		onTestFinished(() => void this.process.kill('SIGKILL'))
	}

	/** Waits until the text is on standard error, or on standard output. */
	async prints(text: string, stream: 'stderr' | 'stdout' = 'stderr'): Promise<void> {
		const pipe = this.process[stream]
		while (!this[stream].includes(text) && pipe)
			await Promise.race([once(pipe, 'data'), this.#failOnExit(text)])
	}

	async ended(): Promise<{
		code: number | null
		signal: NodeJS.Signals | null
		stdout: string
		stderr: string
	}> {
		await this.#closed
		const { exitCode: code, signalCode: signal } = this.process
		return { code, signal, stdout: this.stdout, stderr: this.stderr }
	}

	async #failOnExit(text: string): Promise<never> {
		await this.#closed
		throw new Error(`the process ended without printing '${text}': ${this.stderr}`)
	}
}

export const yaoki = (args: readonly string[], options?: SpawnOptions) =>
	new Spawned(MAIN, args, options).ended()

/** Returns the URL that a command has printed after the text. */
export const urlAfter = (text: string, output: string): string =>
	/^[^;\s]+/.exec(output.split(text)[1] ?? '')?.[0] ?? ''
