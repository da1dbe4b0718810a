/** A real process, of which a test waits for a word and not for a time. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const MAIN: string = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
export const PATIENT: string = fileURLToPath(new URL('./programs/patient.ts', import.meta.url))

export interface SpawnOptions {
	readonly node?: readonly string[]
	readonly stdio?: StdioOptions
	readonly env?: Readonly<Record<string, string>>
}

export class Spawned {
	readonly process: ChildProcess
	stdout = ''
	stderr = ''
	readonly #closed: Promise<unknown[]>

	constructor(
		file: string,
		args: readonly string[],
		{ node = [], stdio = 'pipe', env = {} }: SpawnOptions = {},
	) {
		// The test runner's own wishes for colours are not the user's.
		this.process = spawn(process.execPath, [...node, file, ...args], { stdio, env })
		this.#closed = once(this.process, 'close')
		this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
			this.stdout += text
		})
		this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
			this.stderr += text
		})
		onTestFinished(() => void this.process.kill('SIGKILL'))
	}

	/** Until it has said this on standard error. */
	async says(words: string): Promise<void> {
		const { stderr } = this.process
		while (!this.stderr.includes(words) && stderr)
			await Promise.race([once(stderr, 'data'), this.#endedTooSoon(words)])
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

	async #endedTooSoon(words: string): Promise<never> {
		await this.#closed
		throw new Error(`it ended without saying '${words}': ${this.stderr}`)
	}
}

export const yaoki = (args: readonly string[], options?: SpawnOptions) =>
	new Spawned(MAIN, args, options).ended()
