/**
 * Opens the store of idempotency keys for a command and closes it when the command ends. Stores are loaded
 * here, when a command runs: help must not wait for them.
 */
import type { SqlIdempotencyStore } from '../../idempotency/store/sql-store.ts'
import type { IdempotencyStore } from '../../idempotency/store/store.ts'
import type { CommandResult } from '../command.ts'
import { toCliError } from '../database/database-errors.ts'
import {
	type DatabaseTarget,
	type KeyArguments,
	type RedisTarget,
	resolveKeyTarget,
} from '../database/database-target.ts'
import { openPostgresPool, openRedis, requireFile } from '../database/open-database.ts'
import { usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'

type Io = Pick<CommandIo, 'env' | 'warn'>

/** Runs a command on the keys of a database, which exists. */
export async function withStore(
	args: KeyArguments,
	io: Io,
	use: (store: IdempotencyStore, target: DatabaseTarget | RedisTarget) => CommandResult,
): CommandResult {
	const target = resolveKeyTarget(args, io.env, io.warn)
	if (target.kind !== 'redis') requireFile(target, 'idempotency')
	try {
		if (target.kind !== 'redis') return await onSql(target, (store) => use(store, target))
		const { redisIdempotencyStore } = await import('../../idempotency/store/redis/redis-store.ts')
		const { client, close } = await openRedis(target)
		try {
			return await use(redisIdempotencyStore({ client, prefix: target.prefix }), target)
		} finally {
			close()
		}
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

/** Runs a migration. A missing SQLite file is created. */
export async function withNewStore(
	args: KeyArguments,
	io: Io,
	use: (store: SqlIdempotencyStore, target: DatabaseTarget) => CommandResult,
): CommandResult {
	const target = resolveKeyTarget(args, io.env, io.warn)
	if (target.kind === 'redis') throw usageError('Redis needs no tables and no migration.')
	try {
		return await onSql(target, (store) => use(store, target))
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

async function onSql(target: DatabaseTarget, use: (store: SqlIdempotencyStore) => CommandResult) {
	if (target.kind === 'sqlite') {
		const { sqliteIdempotencyStore } = await import('../../idempotency/store/sqlite/sqlite-store.ts')
		return using(sqliteIdempotencyStore(target.file), use)
	}
	const { postgresIdempotencyStore } = await import('../../idempotency/store/postgres/postgres-store.ts')
	const { schema, prepare } = target
	const pool = await openPostgresPool(target)
	try {
		return await using(postgresIdempotencyStore({ client: pool, schema, prepare }), use)
	} finally {
		await pool.end()
	}
}

async function using(store: SqlIdempotencyStore, use: (store: SqlIdempotencyStore) => CommandResult) {
	try {
		return await use(store)
	} finally {
		await store.close()
	}
}
