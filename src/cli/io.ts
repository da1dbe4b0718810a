/**
 * What a command receives besides its arguments. A command has one result, given as data and as a text with the same content;
 * `--json` selects the data. So no command can forget `--json`, and standard output holds one document and nothing else.
 * Notes, warnings and progress go to standard error.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { Style } from '../text/style.ts'
import type { Progress } from './progress.ts'
import type { GlobalFlags, Reporter } from './reporter.ts'
import type { Terminal } from './terminal.ts'

export interface CommandIo {
	/** Aborted by Ctrl-C, and when standard output is closed. Then print the result so far and return. */
	readonly signal: AbortSignal
	readonly runtime: Runtime
	readonly env: Readonly<Record<string, string | undefined>>
	/** True if `--json` was given. Use it to skip expensive text rendering. */
	readonly json: boolean
	/** True if standard output is a terminal. */
	readonly isTTY: boolean
	/** Width of standard output. */
	readonly columns: number
	/** Colors for the result's text. */
	readonly style: Style
	/**
	 * Prints the result, once per run: `data` with `--json`, otherwise `text`. JSON turns NaN and Infinity into null.
	 *
	 * @example
	 * io.result({ scenario, seed, recovered }, () => `${scenario}: recovered in ${recovered} of ${seeds} runs`)
	 */
	result(data: unknown, text: string | (() => string)): void
	/** Prints a note. Not with `--quiet`. */
	note(text: string): void
	/** Prints a warning. */
	warn(text: string): void
	/** Starts to show progress. It replaces an earlier progress. */
	progress(label: string, total: number): Progress
}

export class Io implements CommandIo {
	readonly signal: AbortSignal
	readonly json: boolean
	readonly style: Style
	readonly #terminal: Terminal
	readonly #reporter: Reporter
	#hasResult = false

	constructor(terminal: Terminal, reporter: Reporter, flags: GlobalFlags, signal: AbortSignal) {
		this.#terminal = terminal
		this.#reporter = reporter
		this.signal = signal
		this.json = flags.json
		this.style = reporter.styleFor(terminal.stdout)
	}

	get runtime(): Runtime {
		return this.#terminal.runtime
	}

	get env(): Readonly<Record<string, string | undefined>> {
		return this.#terminal.env
	}

	get isTTY(): boolean {
		return this.#terminal.stdout.isTTY
	}

	get columns(): number {
		return this.#terminal.stdout.columns
	}

	result(data: unknown, text: string | (() => string)): void {
		if (this.#hasResult) throw new Error('a command must call io.result once, and this one called it twice')
		this.#hasResult = true
		if (this.json) this.#print(JSON.stringify(data, undefined, this.isTTY ? 2 : 0) ?? 'null')
		else this.#print(typeof text === 'string' ? text : text())
	}

	/** With `--json`, a command without a result still prints one document. */
	finish(): void {
		if (this.json && !this.#hasResult) this.result(null, '')
	}

	note(text: string): void {
		this.#reporter.note(text)
	}

	warn(text: string): void {
		this.#reporter.warn(text)
	}

	progress(label: string, total: number): Progress {
		return this.#reporter.progress(label, total)
	}

	#print(text: string): void {
		this.#reporter.hideProgress()
		this.#terminal.stdout.write(text === '' || text.endsWith('\n') ? text : `${text}\n`)
	}
}
