/**
 * Opens the outbox for a command and closes it when the command ends. All commands use it, so an unreachable database has the
 * same message and exit code everywhere.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { RedactMessage } from '../../outbox/message/redact.ts'
import { redactFields } from '../../outbox/message/redact-fields.ts'
import { Outbox } from '../../outbox/outbox.ts'
import { postgresOutboxStore } from '../../outbox/store/postgres/postgres-store.ts'
import { sqliteOutboxStore } from '../../outbox/store/sqlite/sqlite-store.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { notInTime, toCliError } from '../database/database-errors.ts'
import {
	type DatabaseArguments,
	type DatabaseTarget,
	type PostgresTarget,
	resolveTarget,
	type SqliteTarget,
} from '../database/database-target.ts'
import { openPostgresPool, requireFile } from '../database/open-database.ts'
import type { CommandIo } from '../io.ts'

export interface OpenOutbox {
	readonly outbox: Outbox
	readonly store: OutboxStore
	readonly target: DatabaseTarget
}

export interface OpenArguments extends DatabaseArguments {
	/** Allows to create a missing SQLite file. Only for migrations: a misspelled name must not look like an empty outbox. */
	readonly canCreate?: boolean
	readonly keepHistory?: boolean
	/** How long the command may use the database, from the connection to the last statement. Default: no limit. */
	readonly timeoutMs?: number
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
	if (!canCreate) requireFile(target, 'outbox')
	const run = async (signal?: AbortSignal): Promise<T> => {
		const { store, close } = await openStore(target, signal)
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
	}
	try {
		const { timeoutMs } = args
		return await (timeoutMs === undefined ? run() : within(timeoutMs, io.runtime, run, target))
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

/** Rejects after `timeoutMs`, whatever the database does. The aborted signal ends the connections: they would keep the process alive. */
function within<T>(
	timeoutMs: number,
	runtime: Runtime,
	run: (signal: AbortSignal) => Promise<T>,
	target: DatabaseTarget,
): Promise<T> {
	const controller = new AbortController()
	return new Promise<T>((resolve, reject) => {
		const cancel = runtime.setTimer(timeoutMs, () => {
			reject(notInTime(target))
			controller.abort()
		})
		run(controller.signal).then(resolve, reject).finally(cancel)
	})
}

function toRedact(list: string): RedactMessage | undefined {
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
export async function openStore(
	target: StoreTarget,
	signal?: AbortSignal,
): Promise<{ store: OutboxStore; close(): Promise<void> }> {
	if (target.kind === 'sqlite')
		return { store: sqliteOutboxStore({ file: target.file }), close: async () => {} }
	const pool = await openPostgresPool(target, signal)
	const { schema, prepare } = target
	try {
		const store = postgresOutboxStore({ client: pool, schema, prepare })
		return { store, close: () => pool.end() }
	} catch (error) {
		await pool.end()
		throw error
	}
}
