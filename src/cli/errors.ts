/**
 * Exit codes, and the error that carries one. Commands throw; only `runCli` prints and sets the exit code, so
 * no command ends the process while another part is still writing.
 */
import { inspect } from 'node:util'
import { YaokiError } from '../core/errors/errors.ts'

/** The kinds of exit codes. Commands name the kind and never write a number. */
export type ExitKind = keyof typeof EXIT_CODES

/** Scripts branch on these numbers, so they are stable. Help prints them from this table. */
export const EXIT_CODES = {
	ok: [0, 'success'],
	failure: [1, 'failure'],
	usage: [2, 'invalid arguments'],
	notFound: [3, 'not found'],
	checkFailed: [4, 'a check or an assertion failed'],
	unreachable: [5, 'the database or dashboard was not reached or did not answer in time'],
	forbidden: [6, 'the database user lacks a privilege, or the dashboard rejects it'],
	// Shells use 128 plus the signal number for a program that SIGINT ended.
	interrupted: [130, 'interrupted by Ctrl-C'],
} as const

export const exitCode = (kind: ExitKind): number => EXIT_CODES[kind][0]

interface CliErrorOptions extends ErrorOptions {
	/** One line that says what to do next. */
	readonly hint?: string | undefined
}

/** An expected failure of a command, with its exit code. */
export class CliError extends YaokiError {
	override readonly name = 'CliError'
	readonly kind: ExitKind
	readonly exitCode: number
	readonly hint: string | undefined

	constructor(kind: ExitKind, message: string, options: CliErrorOptions = {}) {
		super('YAOKI_CLI', message, options)
		this.kind = kind
		this.exitCode = exitCode(kind)
		this.hint = options.hint
	}
}

export const usageError = (message: string, options?: CliErrorOptions): CliError =>
	new CliError('usage', message, options)

const KINDS: ReadonlyMap<unknown, ExitKind> = new Map<string, ExitKind>([
	['YAOKI_INVALID_OPTION', 'usage'],
	['YAOKI_INVALID_ARGUMENT', 'usage'],
	['YAOKI_DEAD_LETTER_NOT_FOUND', 'notFound'],
	['YAOKI_MESSAGE_NOT_QUEUED', 'notFound'],
	['YAOKI_MESSAGE_NOT_SENT', 'notFound'],
])

/** Returns what is printed for a thrown value. The stack of errors that no command expects helps. */
export function toFailure(thrown: unknown) {
	if (thrown instanceof CliError) {
		const { kind, message, hint } = thrown
		return { kind, message, hint, isUnexpected: false }
	}
	// The code is compared instead of the class: a user's file may import its own copy of the package.
	const code = errorCode(thrown)
	const kind = KINDS.get(code) ?? 'failure'
	return { kind, message: errorMessage(thrown), hint: undefined, isUnexpected: kind === 'failure' }
}

export const errorCode = (thrown: unknown): unknown =>
	typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined

export function errorMessage(thrown: unknown): string {
	if (thrown instanceof Error) return thrown.message || thrown.name
	return `a command threw ${inspect(thrown)}`
}
