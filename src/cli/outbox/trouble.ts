/**
 * What went wrong with a database, as an exit code that a script can branch on. A database that does not answer is not the same as one
 * that answers with an error: the first is worth trying again later, the second wants a person.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError } from '../errors.ts'
import { toFlag } from '../option-tables.ts'
import type { Target } from './target.ts'

/** Of the network; of PostgreSQL when it refuses to talk (SQLSTATE); of SQLite when there is nothing that it could open. */
const UNREACHABLE =
	/^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|E(HOST|NET)UNREACH|EPIPE|08...|57P0.|28...|3D000|53300)$/
/** `pg` gives these no code. */
const UNREACHABLE_WORDS =
	/timeout exceeded when trying to connect|connection terminated|server does not support SSL/i
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26

/** The error to throw in place of one that came out of a database. */
export function troubleWith(target: Target, error: unknown, asked: object = {}): unknown {
	if (error instanceof CliError) return error
	if (error instanceof InvalidOptionError) return inFlags(error, asked)
	const chain = causesOf(error)
	const [first] = chain
	const message = withoutSecrets(wordsOf(chain), target)
	if (chain.some(isUnreachable))
		return new CliError('unreachable', `${target.name} could not be reached: ${message}`, {
			cause: safeCause(error, target),
		})
	const code = String(first?.code ?? '')
	if (code === 'YAOKI_OUTBOX_SCHEMA')
		return schemaTrouble(target, first?.found === 0, message, safeCause(error, target))
	if (code.startsWith('YAOKI_OUTBOX'))
		return new CliError('failure', message, { cause: safeCause(error, target) })
	return hasSecrets(error, target) ? new CliError('failure', message) : error
}

/** The outbox calls it `filter.topic`, and who reads that has typed `--topic`. */
function inFlags(error: InvalidOptionError, asked: object): Error {
	const { optionPath, received, expected } = error
	const name = optionPath.replace(/^filter\./, '')
	if (!Object.hasOwn(asked, name)) return error
	return new CliError('usage', `${toFlag(name)}: expected ${expected}, got ${JSON.stringify(received)}`, {
		cause: error,
	})
}

/** The store does not know how it was asked for; the command that helps has to say so again. */
function schemaTrouble(target: Target, isEmpty: boolean, message: string, cause: unknown): CliError {
	if (!isEmpty) return new CliError('failure', `${placeOf(target)}: ${message}`, { cause })
	const another = target.kind === 'postgres' ? '--database and --schema name' : '--database names'
	return new CliError('failure', `${placeOf(target)}: there are no tables of an outbox`, {
		hint: `yaoki outbox migrate${target.flags} makes them; ${another} another place.`,
		cause,
	})
}

/** With the schema, if one was asked for. */
export const placeOf = (target: Target): string =>
	target.kind === 'postgres' && target.schema !== undefined
		? `${target.name}, schema ${target.schema}`
		: target.name

interface Fault {
	readonly code?: unknown
	readonly found?: unknown
	readonly errcode?: unknown
	readonly message?: unknown
}

/** The error, what caused it, and so on; of several at once (one for each address of a host) all of them. */
function causesOf(error: unknown, depth = 0): readonly Fault[] {
	if (typeof error !== 'object' || error === null || depth > 5) return []
	const { cause, errors }: { cause?: unknown; errors?: unknown } = error
	const several = Array.isArray(errors) ? errors : []
	return [error, ...[...several, cause].flatMap((one) => causesOf(one, depth + 1))]
}

function isUnreachable({ code, errcode, message }: Fault): boolean {
	if (typeof errcode === 'number') return [SQLITE_CANTOPEN, SQLITE_NOTADB].includes(errcode & 0xff)
	return UNREACHABLE.test(String(code)) || UNREACHABLE_WORDS.test(String(message))
}

/** An error for several addresses has no words of its own. */
const wordsOf = (chain: readonly Fault[]): string =>
	chain
		.map(({ message }) => message)
		.find((text): text is string => typeof text === 'string' && text !== '') ?? 'it gave no reason'

const secretsOf = (target: Target): readonly string[] => (target.kind === 'postgres' ? target.secrets : [])

export function withoutSecrets(text: string, target: Target): string {
	return secretsOf(target).reduce((told, secret) => told.replaceAll(secret, '***'), text)
}

const hasSecrets = (error: unknown, target: Target): boolean =>
	causesOf(error).some(({ message }) => withoutSecrets(String(message), target) !== String(message))

/** A cause is shown by `--debug`, so one that knows a secret is left out. */
const safeCause = (error: unknown, target: Target): unknown => (hasSecrets(error, target) ? undefined : error)
