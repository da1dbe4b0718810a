/**
 * Turns database errors into exit codes. An unreachable database (exit code 5) is worth trying again later; a
 * database that returns an error (exit code 1) needs a person. Passwords are removed from messages and
 * causes.
 */
import { inspect } from 'node:util'
import { InvalidArgumentError, InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError, errorCode } from '../errors.ts'
import { toFlag } from '../option-tables.ts'
import {
	type DatabaseTarget,
	describeTarget,
	type PostgresTarget,
	type RedisTarget,
} from './database-target.ts'

/** Error codes of the network, and SQLSTATEs with which PostgreSQL rejects a connection. */
const UNREACHABLE =
	/^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|E(HOST|NET)UNREACH|EPIPE|08...|57P0.|28...|3D000|53300)$/
/** Errors of `pg` that have no code. */
const UNREACHABLE_MESSAGES =
	/timeout exceeded when trying to connect|connection terminated|server does not support SSL/i
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26

/** Returns the error that a command throws for an error of a database or store. `args`: its arguments. */
export function toCliError(error: unknown, target: DatabaseTarget | RedisTarget, args: object = {}): unknown {
	if (error instanceof CliError) return error
	if (error instanceof InvalidOptionError) return withFlagName(error, error.optionPath, args)
	if (error instanceof InvalidArgumentError) return withFlagName(error, error.argument, args)
	const chain = errorChain(error)
	const message = withPrepareFlag(removeSecrets(firstMessage(chain), target))
	const cause = containsSecret(error, target) ? undefined : error
	if (chain.some(isUnreachable))
		return new CliError('unreachable', `Cannot reach ${target.name}: ${message}`, { cause })
	if (chain.some(isTimedOut)) return notInTime(target, cause)
	const denied = chain.find(({ code }) => code === '42501')
	if (denied && target.kind === 'postgres')
		return new CliError('forbidden', `${target.name}: ${removeSecrets(firstMessage([denied]), target)}`, {
			hint: missingGrant(String(denied.message), target),
			cause,
		})
	const code = String(errorCode(error) ?? '')
	const [, group = '', isSchema] = /^YAOKI_(OUTBOX|INBOX|IDEMPOTENCY)(_SCHEMA$)?/.exec(code) ?? []
	if (isSchema && chain[0]?.found === 0) return missingTables(target, group.toLowerCase(), cause)
	if (isSchema) return new CliError('failure', `${describeTarget(target)}: ${message}`, { cause })
	if (group !== '' || code === 'YAOKI_MISSING_VERSION') return new CliError('failure', message, { cause })
	return containsSecret(error, target) ? new CliError('failure', message) : error
}

/** Returns the error for a database that takes longer than the limit of the command or of the server. */
export const notInTime = (target: DatabaseTarget | RedisTarget, cause?: unknown): CliError =>
	new CliError('unreachable', `${target.name} did not answer in time.`, {
		...(target.kind === 'postgres' && {
			hint: 'Another transaction may hold a lock on the tables: see pg_stat_activity.',
		}),
		cause,
	})

/** Returns the statement that gives the user what it lacks. Reading needs less than changing. */
function missingGrant(message: string, { url, schema }: PostgresTarget): string {
	const user = URL.canParse(url) ? decodeURIComponent(new URL(url).username) : ''
	const [role, place] = [user === '' ? 'USER' : `"${user}"`, `"${schema ?? 'yaoki'}"`]
	const usage = `grant usage on schema ${place} to ${role};`
	const tables = `grant select, insert, update, delete on all tables in schema ${place} to ${role};`
	return `${/\bschema\b/.test(message) ? usage : tables} For status, list, show and check, select is enough.`
}

/** Texts of the store name its option; the user of the command line has a flag. */
const withPrepareFlag = (text: string): string =>
	text.replace('Create the store with { prepare: false }', 'Add --no-prepare')

/** The outbox reports `filter.topic`; the user typed `--topic`. */
function withFlagName(error: InvalidOptionError | InvalidArgumentError, path: string, args: object): Error {
	const { received, expected } = error
	const name = path.replace(/^filter\./, '')
	return Object.hasOwn(args, name) ? new InvalidOptionError(toFlag(name), received, expected) : error
}

/** The store does not know the flags; the suggested command must contain them. */
function missingTables(target: DatabaseTarget | RedisTarget, group: string, cause: unknown): CliError {
	const flags = target.kind === 'postgres' ? '--database and --schema' : '--database'
	return new CliError('failure', `${describeTarget(target)} has no ${group} tables.`, {
		hint: `Create them with 'yaoki ${group} migrate${target.flags}', or select another database with ${flags}.`,
		cause,
	})
}

interface ErrorFields {
	readonly code?: unknown
	readonly found?: unknown
	readonly errcode?: unknown
	readonly message?: unknown
}

/** Returns the error and all its causes; an AggregateError has one per address of a host. */
function errorChain(error: unknown, depth = 0): readonly ErrorFields[] {
	if (typeof error !== 'object' || error === null || depth > 5) return []
	const { cause, errors }: { cause?: unknown; errors?: unknown } = error
	const several = Array.isArray(errors) ? errors : []
	return [error, ...[...several, cause].flatMap((one) => errorChain(one, depth + 1))]
}

function isUnreachable({ code, errcode, message }: ErrorFields): boolean {
	if (typeof errcode === 'number') return [SQLITE_CANTOPEN, SQLITE_NOTADB].includes(errcode & 0xff)
	return UNREACHABLE.test(String(code)) || UNREACHABLE_MESSAGES.test(String(message))
}

/** The time limit of the server. */
const isTimedOut = ({ code }: ErrorFields): boolean => code === '57014'

/** An AggregateError has an empty message of its own. */
const firstMessage = (chain: readonly ErrorFields[]): string =>
	chain
		.map(({ message }) => message)
		.find((text): text is string => typeof text === 'string' && text !== '') ?? 'unknown reason'

export function removeSecrets(
	text: string,
	target: DatabaseTarget | RedisTarget,
	more: readonly string[] = [],
): string {
	const secrets = [...('secrets' in target ? target.secrets : []), ...more]
	return secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
}

/** Everything that `--debug` would print is searched: an error of a URL parser has the URL as a property. */
function containsSecret(error: unknown, target: DatabaseTarget | RedisTarget): boolean {
	const text = inspect(error, { depth: 8 })
	return removeSecrets(text, target) !== text
}
