/**
 * All that a run says to the person who started it. It goes to standard error, so that data can be piped on; a progress
 * bar that stands there is taken away before a line is written and comes back by itself. Errors and warnings quote files, so
 * they are cleaned of what a terminal would obey.
 */
import { inspect } from 'node:util'
import { plainText } from '../sim/picture/escape.ts'
import { failureOf } from './errors.ts'
import type { ExitKind } from './exit-codes.ts'
import { isColored, type Palette, palette } from './palette.ts'
import { type Meter, type Progress, ProgressBar, ProgressLines, SILENT } from './progress.ts'
import type { Outlet, Terminal } from './terminal.ts'

/** What the options that every command has ask for. */
export interface Settings {
	readonly json: boolean
	readonly quiet: boolean
	readonly noColor: boolean
	readonly debug: boolean
}

export class Talk {
	readonly #terminal: Terminal
	readonly #settings: Settings
	readonly #palette: Palette
	#meter: Meter = SILENT

	constructor(terminal: Terminal, settings: Settings) {
		this.#terminal = terminal
		this.#settings = settings
		this.#palette = this.paletteFor(terminal.stderr)
	}

	paletteFor(outlet: Outlet): Palette {
		return palette(isColored(outlet.isTTY, this.#terminal.env, this.#settings.noColor))
	}

	note(text: string): void {
		if (!this.#settings.quiet) this.#line(text)
	}

	warn(text: string): void {
		this.#line(`${this.#palette.yellow('warning:')} ${plainText(text)}`)
	}

	progress(label: string, total: number): Progress {
		const { stderr, runtime, env } = this.#terminal
		const isWatched = stderr.isTTY && env['TERM'] !== 'dumb'
		this.endProgress()
		if (this.#settings.quiet) this.#meter = SILENT
		else if (isWatched) this.#meter = new ProgressBar(stderr, runtime, label, total)
		else this.#meter = new ProgressLines(stderr, label, total)
		return this.#meter
	}

	/** Data may go to the same screen as the bar. */
	hideProgress(): void {
		this.#meter.hide()
	}

	endProgress(): void {
		this.#meter.end()
	}

	/** Tells what went wrong where (`yaoki simulate`), and what to do next; answers how the run ends. */
	fail(where: string, thrown: unknown): ExitKind {
		const { kind, message, hint, isUnexpected } = failureOf(thrown)
		const isDebugging = this.#settings.debug || asksForDebug(this.#terminal.env['DEBUG'])
		this.#line(`${this.#palette.red(`${where}:`)} ${plainText(message)}`)
		if (isDebugging) this.#line(plainText(inspect(thrown)))
		const usual = isUnexpected && !isDebugging ? 'Add --debug to see where it happened.' : undefined
		const next = hint ?? (kind === 'usage' ? `Run '${where} --help' to see what it takes.` : usual)
		if (next !== undefined) this.#line(this.#palette.dim(plainText(next)))
		return kind
	}

	#line(text: string): void {
		this.hideProgress()
		this.#terminal.stderr.write(`${text}\n`)
	}
}

/** DEBUG is shared by many programs, each by its name in a list. */
const asksForDebug = (list = ''): boolean => list.split(/[\s,]+/).some((name) => /^(yaoki|\*)$/.test(name))
