/**
 * Opens the outbox for a command and closes it when the command ends. All commands use it, so an unreachable database has the
 * same message and exit code everywhere.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Redact } from '../../outbox/message/redact.ts'
import { redactFields } from '../../outbox/message/redact-fields.ts'
import { Outbox } from '../../outbox/outbox.ts'
import { postgresStore } from '../../outbox/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../outbox/store/sqlite/sqlite-store.ts'
import type { Store } from '../../outbox/store/store.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { toCliError } from './database-errors.ts'
import {
	type DatabaseArguments,
	type DatabaseTarget,
	type PostgresTarget,
	resolveTarget,
	type SqliteTarget,
} from './database-target.ts'

export interface OpenOutbox {
	readonly outbox: Outbox
	readonly store: Store
	readonly target: DatabaseTarget
}

export interface OpenArguments extends DatabaseArguments {
	/** Allows to create a missing SQLite file. Only for migrations: a misspelled name must not look like an empty outbox. */
	readonly canCreate?: boolean
	readonly keepHistory?: boolean
	/** Names of fields that are not shown. Default: YAOKI_REDACT. */
	readonly redact?: string | undefined
}

export async function withOutbox<T>(
	args: OpenArguments,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	use: (open: OpenOutbox) => Promise<T>,
): Promise<T> {
	const { canCreate = false, keepHistory = false } = args
	const target = resolveTarget(args, io.env, io.warn)
	if (target.kind === 'sqlite' && !canCreate && !existsSync(target.file))
		throw new CliError('unreachable', `Database file "${target.name}" does not exist.`, {
			hint: `Create it with 'yaoki outbox migrate${target.flags}', or select another with --database.`,
		})
	try {
		const { store, close } = await openStore(target)
		const outbox = new Outbox({
			...{ store, history: keepHistory, runtime: io.runtime },
			redact: toRedact(args.redact ?? io.env['YAOKI_REDACT'] ?? ''),
			onWarning: (text) => io.warn(text),
		})
		try {
			return await use({ outbox, store, target })
		} finally {
			await outbox.close()
			await close()
		}
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

function toRedact(list: string): Redact | undefined {
	const names = list
		.split(',')
		.map((name) => name.trim())
		.filter((name) => name !== '')
	return names.length === 0 ? undefined : redactFields(names)
}

/** What a store needs of a target, as data that can be posted to another process. */
export type StoreTarget =
	| Pick<SqliteTarget, 'kind' | 'file'>
	| (Pick<PostgresTarget, 'kind' | 'url' | 'schema'> & Partial<Pick<PostgresTarget, 'prepare'>>)

/** Returns the store, and a function that closes what the store does not close itself. */
export async function openStore(target: StoreTarget): Promise<{ store: Store; close(): Promise<void> }> {
	if (target.kind === 'sqlite') return { store: sqliteStore({ file: target.file }), close: async () => {} }
	const pool = await openPostgresPool(target)
	const { schema, prepare } = target
	try {
		const store = postgresStore({ client: pool, schema, prepare })
		return { store, close: () => pool.end() }
	} catch (error) {
		await pool.end()
		throw error
	}
}

/** Short because a person waits for it. */
const CONNECT_TIMEOUT_MS = 5000
const MAX_CONNECTIONS = 4

/**
 * Loads `pg` only for a PostgreSQL database, so that SQLite users need not install it. It is searched next to this package and
 * then in the working directory, because a global `yaoki` does not see the drivers of a project.
 */
export async function openPostgresPool({ url }: Pick<PostgresTarget, 'url'>): Promise<Pool> {
	const driver = await import('pg').catch(() => requireFromWorkingDirectory())
	const pool = new driver.Pool({
		...{ connectionString: url, max: MAX_CONNECTIONS, connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
		...{ application_name: 'yaoki', allowExitOnIdle: true },
	})
	// An idle or closing connection that breaks emits 'error'; without a listener that ends the process.
	pool.on('error', () => {})
	pool.on('connect', (client) => client.on('error', () => {}))
	return pool
}

function requireFromWorkingDirectory(): typeof import('pg') {
	try {
		return createRequire(join(process.cwd(), 'package.json'))('pg')
	} catch (cause) {
		throw new CliError('failure', 'PostgreSQL requires the package "pg", which is not installed.', {
			hint: 'npm install pg',
			cause,
		})
	}
}
