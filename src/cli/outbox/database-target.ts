/**
 * Resolves which database a command uses, before anything is opened. Messages use `name`, which contains only the public parts
 * of the URL, so a password cannot be printed by mistake.
 */
import { fileURLToPath } from 'node:url'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError } from '../errors.ts'
import { type Arguments, flag, text } from '../option-tables.ts'

export const DATABASE_OPTIONS = {
	database: text('URL', 'postgres://..., sqlite:FILE or FILE.db; default DATABASE_URL, then ./outbox.db', {
		short: 'd',
	}),
	schema: text('NAME', 'PostgreSQL schema of the outbox tables'),
	noPrepare: flag('do not prepare statements, for a pooler such as pgbouncer'),
}

export type DatabaseArguments = Arguments<typeof DATABASE_OPTIONS>

interface TargetBase {
	/** For messages. */
	readonly name: string
	/** The flags that select this database again, each with a leading space and without a password; may be empty. */
	readonly flags: string
}

export interface SqliteTarget extends TargetBase {
	readonly kind: 'sqlite'
	readonly file: string
}

export interface PostgresTarget extends TargetBase {
	readonly kind: 'postgres'
	readonly url: string
	readonly schema: string | undefined
	/** Whether statements are prepared by name. */
	readonly prepare: boolean
	/** Must never be printed. */
	readonly secrets: readonly string[]
}

export type DatabaseTarget = SqliteTarget | PostgresTarget

const DEFAULT_FILE = './outbox.db'
const EXPECTED = 'postgres://..., sqlite:FILE, or a file that ends in .db or .sqlite'

export function resolveTarget(
	{ database, schema, noPrepare = false }: Omit<DatabaseArguments, 'noPrepare'> & Partial<DatabaseArguments>,
	env: Readonly<Record<string, string | undefined>>,
): DatabaseTarget {
	const isOption = database !== undefined
	const parsed = parseTarget(
		isOption ? '--database' : 'DATABASE_URL',
		database ?? (env['DATABASE_URL'] || DEFAULT_FILE),
	)
	const flags = isOption ? ` --database ${shellQuote(parsed.name)}` : ''
	if (parsed.kind === 'postgres') {
		const schemaFlag = schema === undefined ? '' : ` --schema ${shellQuote(schema)}`
		const prepareFlag = noPrepare ? ' --no-prepare' : ''
		return { ...parsed, schema, prepare: !noPrepare, flags: `${flags}${schemaFlag}${prepareFlag}` }
	}
	if (schema !== undefined) throw new CliError('usage', '--schema requires a PostgreSQL database.')
	if (noPrepare) throw new CliError('usage', '--no-prepare requires a PostgreSQL database.')
	return { ...parsed, flags }
}

/** Returns the target with its schema, if one was given, for messages. */
export const describeTarget = (target: DatabaseTarget): string =>
	target.kind === 'postgres' && target.schema !== undefined
		? `${target.name}, schema ${target.schema}`
		: target.name

/** So that a suggested command can be pasted into a shell. */
const shellQuote = (text: string): string =>
	/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

function parseTarget(flag: string, text: string): DatabaseTarget {
	if (/^postgres(ql)?:/i.test(text)) return parsePostgres(flag, text)
	if (/^sqlite:/i.test(text)) return sqliteTarget(flag, text.replace(/^sqlite:(\/\/)?/i, ''))
	if (/^file:/i.test(text)) return sqliteTarget(flag, parseFileUrl(flag, text))
	if (/^[a-z][a-z\d+.-]+:/i.test(text)) throw invalidTarget(flag, `${text.slice(0, text.indexOf(':'))}:...`)
	if (/\.(db|sqlite3?)$/i.test(text)) return sqliteTarget(flag, text)
	throw invalidTarget(flag, text)
}

/** Has no cause: the error of the URL parser contains the whole URL. */
const invalidTarget = (flag: string, text: string): Error => new InvalidOptionError(flag, text, EXPECTED)

function parseFileUrl(flag: string, text: string): string {
	if (!/^file:\/\//i.test(text)) return text.slice('file:'.length)
	try {
		return fileURLToPath(text)
	} catch {
		throw invalidTarget(flag, text)
	}
}

function sqliteTarget(flag: string, file: string): SqliteTarget {
	// A database in memory is empty in every new process.
	if (file === '' || file === ':memory:') throw invalidTarget(flag, `sqlite:${file}`)
	return { kind: 'sqlite', file, name: file, flags: '' }
}

function parsePostgres(flag: string, url: string): PostgresTarget {
	const parsed = URL.canParse(url) ? new URL(url) : undefined
	if (!parsed) throw invalidTarget(flag, 'postgres:...')
	const { username, password, host, pathname, searchParams } = parsed
	const user = username === '' ? '' : `${username}@`
	const server = host || searchParams.get('host') || 'localhost'
	const secrets = [password, decode(password), searchParams.get('password'), searchParams.get('sslpassword')]
	return {
		...{
			kind: 'postgres',
			url,
			schema: undefined,
			prepare: true,
			name: `postgres://${user}${server}${pathname}`,
		},
		flags: '',
		secrets: secrets.filter((text): text is string => text !== null && text !== ''),
	}
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text)
	} catch {
		return text
	}
}
