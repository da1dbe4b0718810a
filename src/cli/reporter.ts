/**
 * Prints notes, warnings, errors and progress to standard error, so that results can be piped. A progress bar
 * is erased before a line is printed and drawn again by its next update. Errors and warnings quote files and
 * servers, so control characters are replaced, and passwords of URLs are masked.
 */
import { inspect, styleText } from 'node:util'
import { maskSecrets } from '../text/mask-secrets.ts'
import { sanitizeText } from '../text/sanitize.ts'
import { PLAIN, type Style } from '../text/style.ts'
import { type ExitKind, toFailure } from './errors.ts'
import { NO_PROGRESS, type Progress, progressBar, progressLines } from './progress.ts'
import type { OutputStream, Terminal } from './terminal.ts'

/** The global flags of a run, without `--help`. */
export interface GlobalFlags {
	readonly json: boolean
	readonly quiet: boolean
	readonly noColor: boolean
	readonly debug: boolean
}

export class Reporter {
	readonly #terminal: Terminal
	readonly #flags: GlobalFlags
	readonly #style: Style
	#progress: Progress = NO_PROGRESS

	constructor(terminal: Terminal, flags: GlobalFlags) {
		this.#terminal = terminal
		this.#flags = flags
		this.#style = this.styleFor(terminal.stderr)
	}

	styleFor(stream: OutputStream): Style {
		return createStyle(isColored(stream.isTTY, this.#terminal.env, this.#flags.noColor))
	}

	note(text: string): void {
		if (!this.#flags.quiet) this.#line(text)
	}

	warn(text: string): void {
		this.#line(`${this.#style.yellow('warning:')} ${printable(text)}`)
	}

	progress(label: string, total: number): Progress {
		const { stderr, runtime, env } = this.#terminal
		const canRedraw = stderr.isTTY && env['TERM'] !== 'dumb'
		this.endProgress()
		if (this.#flags.quiet) this.#progress = NO_PROGRESS
		else if (canRedraw) this.#progress = progressBar(stderr, runtime, label, total)
		else this.#progress = progressLines(stderr, label, total)
		return this.#progress
	}

	/** Erases the progress bar: results may go to the same screen. */
	hideProgress(): void {
		this.#progress.hide()
	}

	endProgress(): void {
		this.#progress.end()
	}

	/** Prints an error with the command that failed and a hint, and returns the exit kind. */
	fail(command: string, thrown: unknown): ExitKind {
		const { kind, message, hint, isUnexpected } = toFailure(thrown)
		const isDebug = this.#flags.debug || isDebugEnabled(this.#terminal.env['DEBUG'])
		this.#line(`${this.#style.red(`${command}:`)} ${printable(message)}`)
		if (isDebug) this.#line(printable(inspect(thrown)))
		const debugHint = isUnexpected && !isDebug ? 'Add --debug to see the stack trace.' : undefined
		const next = hint ?? (kind === 'usage' ? `Run '${command} --help' for usage.` : debugHint)
		if (next !== undefined) this.#line(this.#style.dim(printable(next)))
		return kind
	}

	#line(text: string): void {
		this.hideProgress()
		this.#terminal.stderr.write(`${text}\n`)
	}
}

/** Messages quote arguments, and a URL with a password may be the wrong argument. */
const printable = (text: string): string => sanitizeText(maskSecrets(text))

/** DEBUG is a list of program names that many programs share. */
const isDebugEnabled = (list = ''): boolean => list.split(/[\s,]+/).some((name) => /^(yaoki|\*)$/.test(name))

// The decision is made by isColored, so Node must not check process.stdout again (it does by default since
// 22.13).
const paint = (color: keyof Style) => (text: string) => styleText(color, text, { validateStream: false })

const COLORED: Style = {
	bold: paint('bold'),
	dim: paint('dim'),
	red: paint('red'),
	green: paint('green'),
	yellow: paint('yellow'),
	cyan: paint('cyan'),
}

export const createStyle = (isOn: boolean): Style => (isOn ? COLORED : PLAIN)

/**
 * Returns whether an output is colored: by default if it is a terminal. Standard output and standard error
 * decide separately because often only one of them is a terminal. `--no-color` and NO_COLOR win over
 * FORCE_COLOR: escape codes in a file do more harm than plain text.
 */
export function isColored(
	isTTY: boolean,
	env: Readonly<Record<string, string | undefined>>,
	noColor: boolean,
): boolean {
	if (noColor || env['NO_COLOR']) return false
	const forced = env['FORCE_COLOR']
	if (forced) return forced !== '0' && forced !== 'false'
	return isTTY && env['TERM'] !== 'dumb'
}
