/**
 * Runs the programs of a tutorial with the commands of its page, and compares what they print with the page. `npm run blocks` sets YAOKI_PROJECT: an
 * empty project with the packed package, into which the blocks of the page are copied. Without it, the programs of examples/ run with the source.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { MAIN, Spawned } from '../cli/spawned.ts'
import { type Block, blocks, type Page, page } from './markdown.ts'

const PROJECT = process.env['YAOKI_PROJECT']
/** Options of node: `yaoki` is the source. */
export const FROM_SOURCE: readonly string[] = [
	'--import',
	new URL('../shop/from-source.ts', import.meta.url).href,
]

/** Replaces what differs between runs. */
const inAnyRun = (text: string): string =>
	text
		.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
		.replaceAll(/whsec_[\w+/=]+/g, 'SECRET')
		.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'DATE')
		.replaceAll(/\d+(?:\.\d+)? (?:ms|s|min|h)\b/g, 'TIME')
		.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
		// The values of series, as a metrics endpoint and promtool print them.
		.replaceAll(/(?<=\})(?: =>)? [\d.e+-]+(?: @\[[\d.]+\])?$/gm, ' VALUE')

export class Tutorial {
	readonly #page: Page
	/** Blocks below the latest command. The tests follow the order of the page, so that a command can occur twice. */
	#rest: readonly Block[]
	readonly #folder: URL
	readonly #cwd: URL
	readonly #env: Readonly<Record<string, string>>

	/** The page is docs/guide/tutorial-NAME.md. Programs that write files run in a `cwd` of their own. */
	constructor(name: string, folder: string, env: Readonly<Record<string, string>>, cwd?: string) {
		this.#page = page(`docs/guide/tutorial-${name}.md`)
		this.#rest = blocks(this.#page)
		this.#folder = PROJECT
			? copyInto(join(PROJECT, folder), this.#rest)
			: new URL(`../../examples/${folder}/`, import.meta.url)
		this.#cwd = cwd === undefined ? this.#folder : pathToFileURL(cwd)
		this.#env = env
	}

	/** Starts a program: `node server.ts` or `npx yaoki ...`. Quotes may enclose an argument without spaces. */
	start(command: string): Spawned {
		const [runner, program = '', ...args] = command.replaceAll('"', '').split(' ')
		const main = PROJECT ? join(PROJECT, 'node_modules/yaoki/dist/cli/main.js') : MAIN
		const file = runner === 'npx' ? main : new URL(program, this.#folder).pathname
		return new Spawned(file, args, { node: PROJECT ? [] : FROM_SOURCE, env: this.#env, cwd: this.#cwd })
	}

	/** Runs a program until it ends. Returns its output, which is that of the page. `ID` in the command stands for `id`. */
	async run(command: string, id = 'ID'): Promise<string> {
		const { stdout, stderr } = await this.start(command.replace('ID', id)).ended()
		this.prints(command, stderr + stdout)
		return stdout
	}

	/** Expects that the page shows this output below the command. */
	prints(command: string, output: string): void {
		expect(inAnyRun(output), command).toBe(inAnyRun(this.#shownBelow(command)))
	}

	/** Does the same for a program that prints the same in every run, progress excepted. Returns the exit code. */
	async runExactly(command: string): Promise<number | null> {
		const { code, stdout, stderr } = await this.start(command).ended()
		const errors = stderr.replaceAll(/^\w+: \d+ %\n/gm, '')
		expect(stdout + errors, command).toBe(this.#shownBelow(command))
		return code
	}

	#shownBelow(command: string): string {
		const at = this.#rest.findIndex(({ code }) => inAnyRun(code) === inAnyRun(`${command}\n`))
		const shown = this.#rest[at]?.prints ?? `${command} is not on the page`
		this.#rest = this.#rest.slice(at + 1)
		return shown
	}

	/** Waits until a program prints a line that the page shows. */
	async shows(program: Spawned, line: string): Promise<void> {
		expect(inAnyRun(this.#page.text).includes(inAnyRun(line)), `the page shows: ${line}`).toBe(true)
		await program.prints(line, 'stdout')
	}
}

function copyInto(folder: string, shown: readonly Block[]): URL {
	mkdirSync(folder, { recursive: true })
	for (const { file, code } of shown) if (file) writeFileSync(join(folder, basename(file)), code)
	return pathToFileURL(`${folder}/`)
}
