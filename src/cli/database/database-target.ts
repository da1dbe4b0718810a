/**
 * Resolves which database a command uses, before anything is opened. Messages use `name`, which contains only
 * the public parts of the URL, so a password cannot be printed by mistake.
 */
import { fileURLToPath } from 'node:url'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { type CliError, usageError } from '../errors.ts'
import { type Arguments, flag, text } from '../option-tables.ts'
import { rejectWithout } from '../parse-arguments.ts'
import { contentLines, readSecretFile } from '../user-files.ts'

const COMMON_OPTIONS = {
	databaseFile: text(
		'FILE',
		'file that contains the URL; arguments are visible to other users; default DATABASE_URL_FILE',
	),
	schema: text('NAME', 'PostgreSQL schema of the tables'),
	noPrepare: flag('do not prepare statements, for a pooler such as pgbouncer'),
}

const databaseOption = (defaultFile: string, more = '') =>
	text(
		'URL',
		`postgres://..., ${more}sqlite:FILE or FILE.db; default DATABASE_URL, then PGHOST or PGDATABASE, then ${defaultFile}`,
		{ short: 'd' },
	)

const OUTBOX_FILE = './outbox.db'
export const INBOX_FILE = './inbox.db'
const IDEMPOTENCY_FILE = './idempotency.db'

export const DATABASE_OPTIONS = { database: databaseOption(OUTBOX_FILE), ...COMMON_OPTIONS }
export const INBOX_DATABASE_OPTIONS = { database: databaseOption(INBOX_FILE), ...COMMON_OPTIONS }
export const IDEMPOTENCY_DATABASE_OPTIONS = {
	database: databaseOption(IDEMPOTENCY_FILE, 'redis://..., '),
	...COMMON_OPTIONS,
	prefix: text('TEXT', 'option "prefix" of the Redis store'),
}

export type DatabaseArguments = Arguments<typeof DATABASE_OPTIONS>

interface TargetBase {
	/** The public parts of the URL, or the file, for messages. */
	readonly name: string
	/** The flags that select this database again, without a password, each after a space; may be empty. */
	readonly flags: string
}

export interface SqliteTarget extends TargetBase {
	readonly kind: 'sqlite'
	readonly file: string
}

export interface PostgresTarget extends TargetBase {
	readonly kind: 'postgres'
	/** Empty if the driver connects by the PG* variables. */
	readonly url: string
	readonly schema: string | undefined
	/** Whether statements are prepared by name. */
	readonly prepare: boolean
	/** Must never be printed. */
	readonly secrets: readonly string[]
}

export interface RedisTarget extends TargetBase {
	readonly kind: 'redis'
	readonly url: string
	readonly prefix: string | undefined
	/** Must never be printed. */
	readonly secrets: readonly string[]
}

export type DatabaseTarget = SqliteTarget | PostgresTarget

/** A target without what other options decide. */
type Parsed = Omit<SqliteTarget, 'flags'> | Omit<PostgresTarget, 'flags' | 'schema' | 'prepare'>

type Env = Readonly<Record<string, string | undefined>>

export type KeyArguments = Partial<Arguments<typeof IDEMPOTENCY_DATABASE_OPTIONS>>

/** Keywords of libpq. */
const KEYWORD =
	/(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword|options|application_name)\s*=/i

const A_POSTGRES = 'a PostgreSQL database'
const EXPECTED = 'postgres://..., sqlite:FILE, or a file that ends in .db or .sqlite'

export function resolveTarget(
	args: Partial<DatabaseArguments>,
	env: Env,
	warn: (text: string) => void = () => {},
	defaultFile: string = OUTBOX_FILE,
): DatabaseTarget {
	const { schema, noPrepare = false } = args
	const { flag, url, file } = selectDatabase(args, env, defaultFile)
	const parsed =
		flag === PG_VARIABLES
			? targetOfVariables(env)
			: parseTarget(flag, file === undefined ? url : readUrl(flag, file, warn))
	const flags =
		flag === '--database'
			? ` --database ${shellQuote(parsed.name)}`
			: flag === '--database-file'
				? ` --database-file ${shellQuote(String(file))}`
				: ''
	if (parsed.kind === 'postgres') {
		const schemaFlag = schema === undefined ? '' : ` --schema ${shellQuote(schema)}`
		const prepareFlag = noPrepare ? ' --no-prepare' : ''
		return { ...parsed, schema, prepare: !noPrepare, flags: `${flags}${schemaFlag}${prepareFlag}` }
	}
	rejectWithout(A_POSTGRES, { schema, noPrepare })
	return { ...parsed, flags }
}

/** Returns the database of idempotency keys, which may be a Redis. */
export function resolveKeyTarget(
	args: KeyArguments,
	env: Env,
	warn?: (text: string) => void,
): DatabaseTarget | RedisTarget {
	const { schema, noPrepare, prefix } = args
	const { flag, url, file } = selectDatabase(args, env, IDEMPOTENCY_FILE)
	const text = file === undefined ? url : readUrl(flag, file, () => {})
	if (!/^rediss?:/i.test(text)) {
		rejectWithout('a Redis database', { prefix })
		return resolveTarget(args, env, warn, IDEMPOTENCY_FILE)
	}
	rejectWithout(A_POSTGRES, { schema, noPrepare })
	const parsed = URL.canParse(text) ? new URL(text) : undefined
	// An unencoded / or # in a password ends the host too early, and the rest would be printed.
	if (!parsed || `${parsed.pathname}${parsed.hash}`.includes('@')) throw invalidTarget(flag, 'redis:...')
	const { protocol, username, password, host, pathname } = parsed
	const name = `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
	const flags = flag === '--database' ? ` --database ${shellQuote(name)}` : ''
	const secrets = [password, decode(password)].filter((secret) => secret !== '')
	return { kind: 'redis', url: text, prefix, name, flags, secrets }
}

interface Selected {
	/** The flag or variable that selected the database, for messages. */
	readonly flag: string
	readonly url: string
	readonly file?: string | undefined
}

function selectDatabase(
	{ database, databaseFile }: Partial<DatabaseArguments>,
	env: Env,
	defaultFile: string,
): Selected {
	if (database !== undefined && databaseFile !== undefined)
		throw usageError('--database cannot be combined with --database-file.')
	if (database !== undefined) return { flag: '--database', url: database }
	if (databaseFile !== undefined) return { flag: '--database-file', url: '', file: databaseFile }
	const { DATABASE_URL: url, DATABASE_URL_FILE: file } = env
	if (url) return { flag: 'DATABASE_URL', url }
	if (file) return { flag: 'DATABASE_URL_FILE', url: '', file }
	return env['PGHOST'] || env['PGDATABASE']
		? { flag: PG_VARIABLES, url: '' }
		: { flag: 'DATABASE_URL', url: defaultFile }
}

/** Stands for a flag if the PG* variables select the database. */
const PG_VARIABLES = 'PG*'

/** The driver reads the variables itself, and more of them than messages show, such as certificates. */
function targetOfVariables(env: Env): Parsed {
	const {
		PGHOST: host = '',
		PGPORT: port,
		PGUSER: user,
		PGDATABASE: database = '',
		PGPASSWORD: password,
	} = env
	const isSocket = host.startsWith('/')
	const server = `${isSocket ? '' : host || 'localhost'}${port ? `:${port}` : ''}`
	const name = `postgres://${user ? `${user}@` : ''}${server}/${database}${isSocket ? `?host=${host}` : ''}`
	return { kind: 'postgres', url: '', name, secrets: password ? [password] : [] }
}

function readUrl(flag: string, file: string, warn: (text: string) => void): string {
	const lines = contentLines(readSecretFile(file, warn))
	const [url] = lines
	if (url !== undefined && lines.length === 1) return url
	throw usageError(`${flag}: ${file} must contain one line with the URL.`)
}

/** Returns the target with its schema, if one was given, for messages. */
export const describeTarget = (target: DatabaseTarget | RedisTarget): string =>
	target.kind === 'postgres' && target.schema !== undefined
		? `${target.name}, schema ${target.schema}`
		: target.name

/** Quotes a text, so that a suggested command can be pasted into a shell. */
const shellQuote = (text: string): string =>
	/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

function parseTarget(flag: string, text: string): Parsed {
	if (/^postgres(ql)?:/i.test(text)) return parsePostgres(flag, text)
	if (/^sqlite:/i.test(text)) return sqliteTarget(flag, parseSqliteUrl(flag, text))
	if (/^file:/i.test(text)) return sqliteTarget(flag, parseFileUrl(flag, text))
	if (KEYWORD.test(text)) throw keywordString(flag)
	if (/^[a-z][a-z\d+.-]+:/i.test(text)) throw invalidTarget(flag, `${text.slice(0, text.indexOf(':'))}:...`)
	if (/\.(db|sqlite3?)$/i.test(text)) return sqliteTarget(flag, text)
	// Anything else may be a password in the wrong place.
	throw invalidTarget(flag, /^[\w./ -]*$/.test(text) ? text : '...')
}

/** The string may contain a password, so it is not repeated. */
const keywordString = (flag: string): CliError =>
	usageError(`${flag} must be a URL or a file; keywords such as host=... are not supported.`, {
		hint: 'Write postgres://USER@HOST/DATABASE. The password can be in DATABASE_URL or in the file of --database-file.',
	})

/** Neither parameters nor a host exist for a file; both may contain a password. */
function parseSqliteUrl(flag: string, text: string): string {
	if (/[?#]|:\/\/[^/]*@/.test(text)) throw invalidTarget(flag, 'sqlite:...')
	return text.replace(/^sqlite:(\/\/)?/i, '')
}

/** Has no cause: the error of the URL parser contains the whole URL. */
const invalidTarget = (flag: string, text: string): Error => new InvalidOptionError(flag, text, EXPECTED)

function parseFileUrl(flag: string, text: string): string {
	if (/[?#]/.test(text)) throw invalidTarget(flag, 'file:...')
	if (!/^file:\/\//i.test(text)) return text.slice('file:'.length)
	try {
		return fileURLToPath(text)
	} catch {
		throw invalidTarget(flag, 'file:...')
	}
}

function sqliteTarget(flag: string, file: string): Parsed {
	// A database in memory is empty in every new process.
	if (file === '' || file === ':memory:') throw invalidTarget(flag, `sqlite:${file}`)
	return { kind: 'sqlite', file, name: file }
}

function parsePostgres(flag: string, url: string): Parsed {
	const parsed = URL.canParse(url) ? new URL(url) : undefined
	if (!parsed) throw invalidTarget(flag, 'postgres:...')
	const { username, password, host, pathname, search, hash, searchParams } = parsed
	// An unencoded / or # in a password ends the host too early, and the rest would be printed as the name of
	// the database.
	const isCut = pathname.includes('@') || (username === '' && (search + hash).includes('@'))
	if (isCut) throw invalidTarget(flag, 'postgres:... (encode special characters of the password, / as %2F)')
	const user = username === '' ? '' : `${username}@`
	const server = host || searchParams.get('host') || 'localhost'
	const secrets = [password, decode(password), ...secretParameters(searchParams)].filter(
		(text) => text !== '',
	)
	return { kind: 'postgres', url, name: `postgres://${user}${server}${pathname}`, secrets }
}

const secretParameters = (parameters: URLSearchParams): readonly string[] =>
	[...parameters].flatMap(([name, value]) =>
		/pass|secret|token/i.test(name) ? [value, encodeURIComponent(value)] : [],
	)

function decode(text: string): string {
	try {
		return decodeURIComponent(text)
	} catch {
		return text
	}
}
