/** Opens the store of idempotency keys for a command and closes it when the command ends. */
import { postgresIdempotencyStore } from '../../idempotency/store/postgres/postgres-store.ts'
import type { SqlIdempotencyStore } from '../../idempotency/store/sql-store.ts'
import { sqliteIdempotencyStore } from '../../idempotency/store/sqlite/sqlite-store.ts'
import { toCliError } from '../database/database-errors.ts'
import {
	type DatabaseArguments,
	type DatabaseTarget,
	IDEMPOTENCY_FILE,
	resolveTarget,
} from '../database/database-target.ts'
import { openPostgresPool, requireFile } from '../database/open-database.ts'
import type { CommandIo } from '../io.ts'

export interface OpenArguments extends DatabaseArguments {
	/** Allows to create a missing SQLite file. Only for migrations. */
	readonly canCreate?: boolean
}

export async function withStore<T>(
	args: OpenArguments,
	io: Pick<CommandIo, 'env' | 'warn'>,
	use: (store: SqlIdempotencyStore, target: DatabaseTarget) => Promise<T>,
): Promise<T> {
	const target = resolveTarget(args, io.env, io.warn, IDEMPOTENCY_FILE)
	if (args.canCreate !== true) requireFile(target, 'idempotency')
	try {
		if (target.kind === 'sqlite') return await using(sqliteIdempotencyStore(target.file), target, use)
		const { schema, prepare } = target
		const pool = await openPostgresPool(target)
		try {
			return await using(postgresIdempotencyStore({ client: pool, schema, prepare }), target, use)
		} finally {
			await pool.end()
		}
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

async function using<T>(
	store: SqlIdempotencyStore,
	target: DatabaseTarget,
	use: (store: SqlIdempotencyStore, target: DatabaseTarget) => Promise<T>,
): Promise<T> {
	try {
		return await use(store, target)
	} finally {
		await store.close()
	}
}
