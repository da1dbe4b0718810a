/**
 * What a command receives besides its arguments. A command has one result, given as data and as a text with
 * the same content; `--json` selects the data. So no command can forget `--json`, and standard output holds
 * one document and nothing else. Notes, warnings and progress go to standard error.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import { escapeJson } from '../text/sanitize.ts'
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
	readonly isTTY: boolean
	readonly columns: number
	readonly rows: number
	readonly style: Style
	/** Prints the result, once per run: `data` with `--json`, in which NaN is null, otherwise `text`. */
	result(data: unknown, text: string | (() => string)): void
	/**
	 * Prints a part of a result that has no end, such as what a command shows until Ctrl-C, without a line break. Not with
	 * `--json`, whose output is one document.
	 */
	print(text: string): void
	/** Prints a note. Not with `--quiet`. */
	note(text: string): void
	warn(text: string): void
	/** Starts to show progress. It replaces an earlier progress. */
	progress(label: string, total: number): Progress
}

export interface RunIo extends CommandIo {
	/** Prints `null` with `--json` if the command had no result. */
	finish(): void
}

export function createIo(
	terminal: Terminal,
	reporter: Reporter,
	{ json }: GlobalFlags,
	signal: AbortSignal,
): RunIo {
	const { stdout, runtime, env } = terminal
	let hasResult = false
	const result: CommandIo['result'] = (data, text) => {
		if (hasResult) throw new Error('a command must call io.result once, and this one called it twice')
		hasResult = true
		const document = json ? (JSON.stringify(data, undefined, stdout.isTTY ? 2 : 0) ?? 'null') : undefined
		const output = (document && escapeJson(document)) ?? (typeof text === 'string' ? text : text())
		reporter.hideProgress()
		stdout.write(output === '' || output.endsWith('\n') ? output : `${output}\n`)
	}
	return {
		signal,
		runtime,
		env,
		json,
		result,
		isTTY: stdout.isTTY,
		style: reporter.styleFor(stdout),
		// Read each time because a window can be resized.
		get columns() {
			return stdout.columns
		},
		get rows() {
			return stdout.rows
		},
		print(text) {
			if (json) return
			reporter.hideProgress()
			stdout.write(text)
		},
		note: (text) => reporter.note(text),
		warn: (text) => reporter.warn(text),
		progress: (label, total) => reporter.progress(label, total),
		finish() {
			if (json && !hasResult) result(null, '')
		},
	}
}
