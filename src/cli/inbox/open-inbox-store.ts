/** Opens the store of inboxes for a command and closes it when the command ends. */
import type { InboxStore } from '../../outbox/inbox/store/store.ts'
import type { CommandResult } from '../command.ts'
import { toCliError } from '../database/database-errors.ts'
import {
	type DatabaseArguments,
	type DatabaseTarget,
	INBOX_FILE,
	resolveTarget,
} from '../database/database-target.ts'
import { openPostgresPool, requireFile } from '../database/open-database.ts'
import type { CommandIo } from '../io.ts'

interface InboxArguments extends Partial<DatabaseArguments> {
	/** Whether a missing SQLite file is created. */
	readonly canCreate?: boolean
}

export async function withInboxStore(
	args: InboxArguments,
	io: Pick<CommandIo, 'env' | 'warn'>,
	use: (store: InboxStore, target: DatabaseTarget) => CommandResult,
): CommandResult {
	const target = resolveTarget(args, io.env, io.warn, INBOX_FILE)
	if (args.canCreate !== true) requireFile(target, 'inbox')
	try {
		return await onStore(target, (store) => use(store, target))
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

async function onStore(target: DatabaseTarget, use: (store: InboxStore) => CommandResult) {
	if (target.kind === 'sqlite') {
		const { sqliteInboxStore } = await import('../../outbox/inbox/store/sqlite/sqlite-store.ts')
		return using(sqliteInboxStore(target.file), use)
	}
	const { postgresInboxStore } = await import('../../outbox/inbox/store/postgres/postgres-store.ts')
	const { schema, prepare } = target
	const pool = await openPostgresPool(target)
	try {
		return await using(postgresInboxStore({ client: pool, schema, prepare }), use)
	} finally {
		await pool.end()
	}
}

async function using(store: InboxStore, use: (store: InboxStore) => CommandResult) {
	try {
		return await use(store)
	} finally {
		await store.close()
	}
}
