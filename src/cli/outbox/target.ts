/**
 * Which database is meant, before anything is opened. What is told of it later is told by `name`, which is made here from the parts
 * of the address that are no secret: a password that was never taken along can not be printed by mistake.
 */
import { fileURLToPath } from 'node:url'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError } from '../errors.ts'
import type { Arguments } from '../option-tables.ts'

export const DATABASE_OPTIONS = {
	database: {
		type: 'string',
		short: 'd',
		placeholder: 'URL',
		description:
			'postgres://..., sqlite:FILE or a file that ends in .db; else DATABASE_URL, else ./outbox.db',
	},
	schema: {
		type: 'string',
		placeholder: 'NAME',
		description: "the schema of the outbox's tables in PostgreSQL",
	},
} as const

export type AskedDatabase = Arguments<typeof DATABASE_OPTIONS, Record<never, never>>

interface Named {
	/** What it is called for people. */
	readonly name: string
	/** What has to be typed to mean it again, with a space before each word and without its password; empty when nothing has to. */
	readonly flags: string
}

interface SqliteTarget extends Named {
	readonly kind: 'sqlite'
	readonly file: string
}

export interface PostgresTarget extends Named {
	readonly kind: 'postgres'
	readonly url: string
	readonly schema: string | undefined
	/** What must never be told. */
	readonly secrets: readonly string[]
}

export type Target = SqliteTarget | PostgresTarget

const DEFAULT_FILE = './outbox.db'
const TAKES = 'postgres://..., sqlite:FILE or a file that ends in .db or .sqlite'

export function targetOf(
	{ database, schema }: AskedDatabase,
	env: Readonly<Record<string, string | undefined>>,
): Target {
	const isOption = database !== undefined
	const found = read(
		isOption ? '--database' : 'DATABASE_URL',
		database ?? (env['DATABASE_URL'] || DEFAULT_FILE),
	)
	const target = { ...found, flags: isOption ? ` --database ${quoted(found.name)}` : '' }
	if (target.kind === 'postgres') {
		const { flags } = target
		return { ...target, schema, flags: schema === undefined ? flags : `${flags} --schema ${quoted(schema)}` }
	}
	if (schema !== undefined) throw new CliError('usage', '--schema goes with a database of postgres://')
	return target
}

/** As a shell takes it, so that what is advised can be pasted. */
const quoted = (text: string): string =>
	/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

function read(flag: string, text: string): Target {
	if (/^postgres(ql)?:/i.test(text)) return postgres(flag, text)
	if (/^sqlite:/i.test(text)) return sqlite(flag, text.replace(/^sqlite:(\/\/)?/i, ''))
	if (/^file:/i.test(text)) return sqlite(flag, fileOf(flag, text))
	if (/^[a-z][a-z\d+.-]+:/i.test(text)) throw strange(flag, `${text.slice(0, text.indexOf(':'))}:...`)
	if (/\.(db|sqlite3?)$/i.test(text)) return sqlite(flag, text)
	throw strange(flag, text)
}

/** Without a cause: an error of the URL parser carries the whole address with it. */
const strange = (flag: string, text: string): Error => new InvalidOptionError(flag, text, TAKES)

function fileOf(flag: string, text: string): string {
	if (!/^file:\/\//i.test(text)) return text.slice('file:'.length)
	try {
		return fileURLToPath(text)
	} catch {
		throw strange(flag, text)
	}
}

function sqlite(flag: string, file: string): SqliteTarget {
	// In memory there would be nothing to look at: it is gone with the process that made it.
	if (file === '' || file === ':memory:') throw strange(flag, `sqlite:${file}`)
	return { kind: 'sqlite', file, name: file, flags: '' }
}

function postgres(flag: string, url: string): PostgresTarget {
	const parsed = URL.canParse(url) ? new URL(url) : undefined
	if (!parsed) throw strange(flag, 'postgres:...')
	const { username, password, host, pathname, searchParams } = parsed
	const who = username === '' ? '' : `${username}@`
	const where = host || searchParams.get('host') || 'localhost'
	const hidden = [password, decoded(password), searchParams.get('password'), searchParams.get('sslpassword')]
	return {
		...{ kind: 'postgres', url, schema: undefined, name: `postgres://${who}${where}${pathname}` },
		flags: '',
		secrets: hidden.filter((text): text is string => text !== null && text !== ''),
	}
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text)
	} catch {
		return text
	}
}
