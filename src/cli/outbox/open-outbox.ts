/**
 * Opens the outbox for a command and closes it when the command ends. All commands use it, so an unreachable
 * database has the same message and exit code everywhere. The outbox is loaded here, when a command runs: help
 * must not wait for it.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { RedactMessage } from '../../outbox/message/redact.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import type { CommandResult } from '../command.ts'
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
	/** Creates a missing SQLite file. Only for migrations: a misspelled name must not look empty. */
	readonly canCreate?: boolean
	readonly keepHistory?: boolean
	/** How long the command may use the database, connecting included. Default: no limit. */
	readonly timeoutMs?: number
	/** Names of fields that are not shown. Default: YAOKI_REDACT. */
	readonly redact?: string | undefined
}

export async function withOutbox(
	args: OpenArguments,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	use: (open: OpenOutbox) => CommandResult,
): CommandResult {
	const { canCreate = false, keepHistory = false } = args
	const target = resolveTarget(args, io.env, io.warn)
	if (!canCreate) requireFile(target, 'outbox')
	const run = async (signal?: AbortSignal) => {
		const { Outbox } = await import('../../outbox/outbox.ts')
		const { store, close } = await openStore(target, signal)
		const outbox = new Outbox({
			store,
			historyForMs: keepHistory ? Infinity : 0,
			runtime: io.runtime,
			redact: await toRedact(args.redact ?? io.env['YAOKI_REDACT'] ?? ''),
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

/** Rejects after `timeoutMs`. The signal ends connections, which would keep the process alive. */
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

export async function toRedact(list: string): Promise<RedactMessage | undefined> {
	const names = list
		.split(',')
		.map((name) => name.trim())
		.filter((name) => name !== '')
	if (names.length === 0) return undefined
	const { redactFields } = await import('../../outbox/message/redact.ts')
	return redactFields(names)
}

/** The part of a target that a store needs, as data that can be posted to another process. */
export type StoreTarget =
	| Pick<SqliteTarget, 'kind' | 'file'>
	| (Pick<PostgresTarget, 'kind' | 'url' | 'schema'> & Partial<Pick<PostgresTarget, 'prepare'>>)

/** Returns the store, and a function that closes what the store does not close itself. */
export async function openStore(
	target: StoreTarget,
	signal?: AbortSignal,
): Promise<{ store: OutboxStore; close(): Promise<void> }> {
	if (target.kind === 'sqlite') {
		const { sqliteOutboxStore } = await import('../../outbox/store/sqlite/sqlite-store.ts')
		return { store: sqliteOutboxStore({ file: target.file }), close: async () => {} }
	}
	const { postgresOutboxStore } = await import('../../outbox/store/postgres/postgres-store.ts')
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
