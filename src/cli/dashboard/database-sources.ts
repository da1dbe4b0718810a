/** What a dashboard can show of a database: the outbox and its webhooks, and each inbox, if their tables exist. */
import type { Observable } from '../../core/observe/observation.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { InboxStore } from '../../outbox/inbox/store/store.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { toCliError } from '../database/database-errors.ts'
import { type DatabaseTarget, describeTarget, resolveTarget } from '../database/database-target.ts'
import { openPostgresPool, requireFile } from '../database/open-database.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type OpenArguments, toRedact } from '../outbox/open-outbox.ts'

export interface DatabaseSources {
	readonly target: DatabaseTarget
	readonly observe: Readonly<Record<string, Observable>>
}

/** A store, as far as it says whether its tables exist. */
interface VersionedStore {
	schemaVersion(): Promise<number>
	close(): Promise<void>
}

type Closers = (() => Promise<void>)[]

export async function withDatabaseSources<T>(
	args: OpenArguments,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	use: (sources: DatabaseSources) => Promise<T>,
): Promise<T> {
	const target = resolveTarget(args, io.env, io.warn)
	requireFile(target, 'outbox')
	const closers: Closers = []
	try {
		return await use({ target, observe: await openSources(target, args, io, closers) })
	} catch (error) {
		throw toCliError(error, target, args)
	} finally {
		for (const close of closers.reverse()) await close()
	}
}

async function openSources(
	target: DatabaseTarget,
	{ redact }: OpenArguments,
	{ env, runtime, warn }: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	closers: Closers,
): Promise<Readonly<Record<string, Observable>>> {
	const stores = await openStores(target, closers)
	const observe: Record<string, Observable> = {}
	if (await hasTables(stores.outbox)) {
		const { Outbox } = await import('../../outbox/outbox.ts')
		const { Webhooks } = await import('../../outbox/webhooks/webhooks.ts')
		const hidden = await toRedact(redact ?? env['YAOKI_REDACT'] ?? '')
		const outbox = new Outbox({ store: stores.outbox, runtime, redact: hidden, onWarning: warn })
		closers.push(() => outbox.close())
		observe['outbox'] = outbox
		// A program without webhooks has the tables too.
		const endpoints = (await stores.outbox.endpoints?.list({}, 1)) ?? []
		if (endpoints.length > 0) observe['webhooks'] = new Webhooks(outbox, { runtime })
	}
	if (await hasTables(stores.inbox)) await openInboxes(stores.inbox, runtime, observe)
	if (Object.keys(observe).length > 0) return observe
	throw new CliError('failure', `${describeTarget(target)} has no tables of an outbox or an inbox.`, {
		hint: `Create them with 'yaoki outbox migrate${target.flags}', or select another database with ${target.kind === 'postgres' ? '--database and --schema' : '--database'}.`,
	})
}

const hasTables = async (store: VersionedStore): Promise<boolean> => (await store.schemaVersion()) > 0

/** Inboxes share a table, so each name in it is one. An inbox that has no message yet is not known. */
async function openInboxes(
	store: InboxStore,
	runtime: Runtime,
	observe: Record<string, Observable>,
): Promise<void> {
	const { Inbox } = await import('../../outbox/inbox/inbox.ts')
	for (const { inbox: name } of await store.stats(1)) {
		const source = Object.hasOwn(observe, name) ? `inbox ${name}` : name
		// The programs with the inbox delete expired marks.
		observe[source] = new Inbox({ store, name, runtime, purgeEveryMs: 0 })
	}
}

interface Stores {
	readonly outbox: OutboxStore
	readonly inbox: InboxStore
}

async function openStores(target: DatabaseTarget, closers: Closers): Promise<Stores> {
	if (target.kind === 'sqlite') {
		const { sqliteOutboxStore } = await import('../../outbox/store/sqlite/sqlite-store.ts')
		const { sqliteInboxStore } = await import('../../outbox/inbox/store/sqlite/sqlite-store.ts')
		const { file } = target
		return closing({ outbox: sqliteOutboxStore({ file }), inbox: sqliteInboxStore(file) }, closers)
	}
	const { postgresOutboxStore } = await import('../../outbox/store/postgres/postgres-store.ts')
	const { postgresInboxStore } = await import('../../outbox/inbox/store/postgres/postgres-store.ts')
	const pool = await openPostgresPool(target)
	closers.push(() => pool.end())
	const options = { client: pool, schema: target.schema, prepare: target.prepare }
	return closing({ outbox: postgresOutboxStore(options), inbox: postgresInboxStore(options) }, closers)
}

function closing(stores: Stores, closers: Closers): Stores {
	closers.push(
		() => stores.outbox.close(),
		() => stores.inbox.close(),
	)
	return stores
}
