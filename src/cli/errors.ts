/**
 * What goes wrong in a command, as a kind of exit, a sentence, and a hint at what to do next. A command throws; only the frame
 * prints and sets the exit code, so that no command ends the process in the middle of what another part is writing.
 */
import { inspect } from 'node:util'
import { YaokiError } from '../core/errors/errors.ts'
import { type ExitKind, exitCode } from './exit-codes.ts'

/** What a `CliError` may carry besides its sentence. */
export interface CliErrorOptions extends ErrorOptions {
	/** One line on what to do next. */
	readonly hint?: string | undefined
}

/**
 * A failure that a command expected, with the exit code that tells its kind.
 *
 * @example
 * throw new CliError('notFound', `there is no scenario '${name}'`, { hint: 'yaoki simulate --list names them all.' })
 */
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

/** What the frame tells of something that was thrown. */
export interface Failure {
	readonly kind: ExitKind
	readonly message: string
	readonly hint: string | undefined
	/** Did nobody foresee it? Then its stack is worth something. */
	readonly isUnexpected: boolean
}

export function failureOf(thrown: unknown): Failure {
	if (thrown instanceof CliError) {
		const { kind, message, hint } = thrown
		return { kind, message, hint, isUnexpected: false }
	}
	const message = messageOf(thrown)
	// By its code and not by its class: a user's file may bring its own copy of the package.
	if (codeOf(thrown) === 'YAOKI_INVALID_OPTION')
		return { kind: 'usage', message, hint: undefined, isUnexpected: false }
	return { kind: 'failure', message, hint: undefined, isUnexpected: true }
}

const codeOf = (thrown: unknown): unknown =>
	typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined

function messageOf(thrown: unknown): string {
	if (thrown instanceof Error) return thrown.message || thrown.name
	return `a command threw ${inspect(thrown)}`
}
