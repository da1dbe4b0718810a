/**
 * What a command is handed besides its arguments. It answers once, with its data and with a text that says the same, and
 * the frame prints the one that was asked for: so `--json` can not be forgotten, and standard output holds one document and
 * nothing else. Everything else a command says is talk.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { Palette } from './palette.ts'
import type { Progress } from './progress.ts'
import type { Settings, Talk } from './talk.ts'
import type { Terminal } from './terminal.ts'

/** A command's way to the outside. */
export interface CommandIo {
	/** Aborted by Ctrl-C, and when nobody reads the output any more: then answer what is known so far, and return. */
	readonly signal: AbortSignal
	readonly runtime: Runtime
	readonly env: Readonly<Record<string, string | undefined>>
	/** Was `--json` given? Only for what is too dear to be made in vain. */
	readonly json: boolean
	/** Does somebody see the answer at once? */
	readonly isTTY: boolean
	/** The width of the answer's text. */
	readonly columns: number
	/** Colours for the answer's text. */
	readonly paint: Palette
	/**
	 * What the command found: `data` is printed with `--json`, and `text` otherwise. Once a run. JSON has no NaN and no
	 * Infinity, and turns them into null.
	 *
	 * @example
	 * io.answer({ scenario, seed, recovered }, () => `${scenario}: recovered in ${recovered} of ${seeds} seeds`)
	 */
	answer(data: unknown, text: string | (() => string)): void
	/** Something to know by the way. Not with `--quiet`. */
	note(text: string): void
	/** Something that may be wrong. */
	warn(text: string): void
	/** Tells how far work has come; one at a time. */
	progress(label: string, total: number): Progress
}

export class Io implements CommandIo {
	readonly signal: AbortSignal
	readonly json: boolean
	readonly paint: Palette
	readonly #terminal: Terminal
	readonly #talk: Talk
	#hasAnswered = false

	constructor(terminal: Terminal, talk: Talk, settings: Settings, signal: AbortSignal) {
		this.#terminal = terminal
		this.#talk = talk
		this.signal = signal
		this.json = settings.json
		this.paint = talk.paletteFor(terminal.stdout)
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

	answer(data: unknown, text: string | (() => string)): void {
		if (this.#hasAnswered) throw new Error('a command answers once, and this one did twice')
		this.#hasAnswered = true
		if (this.json) this.#print(this.#document(data))
		else this.#print(typeof text === 'string' ? text : text())
	}

	/** A command that had nothing to say is still one document. */
	finish(): void {
		if (this.json && !this.#hasAnswered) this.answer(null, '')
	}

	note(text: string): void {
		this.#talk.note(text)
	}

	warn(text: string): void {
		this.#talk.warn(text)
	}

	progress(label: string, total: number): Progress {
		return this.#talk.progress(label, total)
	}

	/** In lines for a person, in one line for a program. */
	#document(data: unknown): string {
		return JSON.stringify(data, undefined, this.isTTY ? 2 : 0) ?? 'null'
	}

	#print(text: string): void {
		this.#talk.hideProgress()
		this.#terminal.stdout.write(text === '' || text.endsWith('\n') ? text : `${text}\n`)
	}
}
