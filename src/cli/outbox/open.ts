/**
 * Opens the outbox that a command asks for, and closes it however the command ends. All commands go through here, so a database that
 * can not be reached is told in one way and by one exit code.
 */
import { existsSync } from 'node:fs'
import { Outbox, postgresStore, sqliteStore } from '../../outbox/index.ts'
import type { Store } from '../../outbox/store/store.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { postgresPool } from './postgres-driver.ts'
import { type AskedDatabase, type Target, targetOf } from './target.ts'
import { troubleWith } from './trouble.ts'

/** An outbox in its database. */
export interface Opened {
	readonly outbox: Outbox
	readonly store: Store
	readonly target: Target
}

/** What opening takes besides the database. */
export interface OpenOptions {
	/** May a file be made that is not there? Only a migration may: a mistyped name must not look like an empty outbox. */
	readonly mayCreate?: boolean
	/** Is what leaves the outbox kept as history? */
	readonly keepHistory?: boolean
}

export async function withOutbox<T>(
	asked: AskedDatabase,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	work: (opened: Opened) => Promise<T>,
	{ mayCreate = false, keepHistory = false }: OpenOptions = {},
): Promise<T> {
	const target = targetOf(asked, io.env)
	if (target.kind === 'sqlite' && !mayCreate && !existsSync(target.file))
		throw new CliError('unreachable', `there is no database '${target.name}'`, {
			hint: `yaoki outbox migrate${target.flags} makes it; --database names another.`,
		})
	try {
		const { store, end } = await storeOf(target)
		const outbox = new Outbox({
			store,
			history: keepHistory,
			runtime: io.runtime,
			onWarning: (text) => io.warn(text),
		})
		try {
			return await work({ outbox, store, target })
		} finally {
			await outbox.close()
			await end()
		}
	} catch (error) {
		throw troubleWith(target, error, asked)
	}
}

interface OpenStore {
	readonly store: Store
	/** Ends what the store does not end itself. */
	end(): Promise<void>
}

export async function storeOf(target: Target): Promise<OpenStore> {
	if (target.kind === 'sqlite') return { store: sqliteStore({ file: target.file }), end: async () => {} }
	const pool = await postgresPool(target)
	const { schema } = target
	try {
		const store = postgresStore({ client: pool, ...(schema !== undefined && { schema }) })
		return { store, end: () => pool.end() }
	} catch (error) {
		await pool.end()
		throw error
	}
}
