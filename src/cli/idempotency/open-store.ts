/** Opens the store of idempotency keys for a command and closes it when the command ends. */
import { postgresIdempotencyStore } from '../../idempotency/store/postgres/postgres-store.ts'
import { redisIdempotencyStore } from '../../idempotency/store/redis/redis-store.ts'
import type { SqlIdempotencyStore } from '../../idempotency/store/sql-store.ts'
import { sqliteIdempotencyStore } from '../../idempotency/store/sqlite/sqlite-store.ts'
import type { IdempotencyStore } from '../../idempotency/store/store.ts'
import { toCliError } from '../database/database-errors.ts'
import {
	type DatabaseTarget,
	type KeyArguments,
	type RedisTarget,
	resolveKeyTarget,
} from '../database/database-target.ts'
import { openPostgresPool, requireFile } from '../database/open-database.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'

type Io = Pick<CommandIo, 'env' | 'warn'>

/** Runs a command on the keys of a database, which exists. */
export async function withStore<T>(
	args: KeyArguments,
	io: Io,
	use: (store: IdempotencyStore, target: DatabaseTarget | RedisTarget) => Promise<T>,
): Promise<T> {
	const target = resolveKeyTarget(args, io.env, io.warn)
	if (target.kind !== 'redis') {
		requireFile(target, 'idempotency')
		return onSql(target, args, (store) => use(store, target))
	}
	try {
		const { openRedis } = await import('../database/open-redis.ts')
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
export async function withNewStore<T>(
	args: KeyArguments,
	io: Io,
	use: (store: SqlIdempotencyStore, target: DatabaseTarget) => Promise<T>,
): Promise<T> {
	const target = resolveKeyTarget(args, io.env, io.warn)
	if (target.kind === 'redis') throw new CliError('usage', 'Redis needs no tables and no migration.')
	return onSql(target, args, (store) => use(store, target))
}

async function onSql<T>(
	target: DatabaseTarget,
	args: KeyArguments,
	use: (store: SqlIdempotencyStore) => Promise<T>,
): Promise<T> {
	try {
		if (target.kind === 'sqlite') return await using(sqliteIdempotencyStore(target.file), use)
		const { schema, prepare } = target
		const pool = await openPostgresPool(target)
		try {
			return await using(postgresIdempotencyStore({ client: pool, schema, prepare }), use)
		} finally {
			await pool.end()
		}
	} catch (error) {
		throw toCliError(error, target, args)
	}
}

async function using<T>(
	store: SqlIdempotencyStore,
	use: (store: SqlIdempotencyStore) => Promise<T>,
): Promise<T> {
	try {
		return await use(store)
	} finally {
		await store.close()
	}
}
