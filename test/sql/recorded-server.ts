/** A pool with one connection to a server that knows prepared statements, and records the texts that it gets. */
import type { PgClient, PgPool } from '../../src/sql/clients.ts'

export class SqlError extends Error {
	readonly code: string

	constructor(code: string) {
		super(`the server failed with ${code}`)
		this.code = code
	}
}

export interface RecordedServer {
	readonly pool: PgPool
	/** Texts of the connection, without settings. */
	readonly texts: string[]
	/** Texts that the pool ran on another connection. */
	readonly others: unknown[][]
	readonly prepared: Set<string>
	/** Whether each release destroyed the connection. */
	readonly releases: boolean[]
	/** The server's own `statement_timeout`. */
	timeoutMs: number
	/** Runs before a text. It may throw the error of the server. */
	onText: (text: string) => void | Promise<void>
	/** Emits an event of the connection. */
	emit(event: string, value?: unknown): void
	handlers(event: string): number
}

const SETTINGS =
	/set (transaction isolation level read committed|local (enable_\w+|jit|plan_cache_mode) = \w+); ?/g

export function recordedServer(): RecordedServer {
	const handlers = new Map<string, Set<(value?: unknown) => void>>()
	const of = (event: string) => handlers.get(event) ?? new Set()
	const query: PgClient['query'] = async (given) => {
		const text = String(given)
		if (text.includes('from pg_settings')) return { rows: [{ setting: String(server.timeoutMs) }] }
		server.texts.push(text.replaceAll(SETTINGS, '').trim())
		await server.onText(text)
		const [, created] = /prepare (\w+) as/.exec(text) ?? []
		if (created !== undefined) {
			if (server.prepared.has(created)) throw new SqlError('42P05')
			server.prepared.add(created)
		}
		const executed = [...text.matchAll(/execute (\w+)/g)].map(([, name = '']) => name)
		if (executed.some((name) => !server.prepared.has(name))) throw new SqlError('26000')
		const count = Math.max(1, executed.length)
		const results = Array.from({ length: count }, (_, n) => ({ rows: [{ n }] }))
		// `pg` returns one result for one statement, and a list for several.
		return (text.startsWith('commit') ? { rows: [], command: 'COMMIT' } : [{ rows: [] }, ...results]) as never
	}
	const client: PgClient = {
		query,
		release: (isBroken = false) => void server.releases.push(isBroken),
		on: (event, handler) => handlers.set(event, of(event).add(handler)),
		removeListener: (event, handler) => of(event).delete(handler),
	}
	const pool: PgPool = {
		connect: async () => client,
		async query(...given) {
			server.others.push(given)
			return { rows: [] }
		},
		on() {},
		removeListener() {},
	}
	const server: RecordedServer = {
		pool,
		texts: [],
		others: [],
		prepared: new Set(),
		releases: [],
		timeoutMs: 0,
		onText() {},
		emit(event, value) {
			for (const handler of of(event)) handler(value)
		},
		handlers: (event) => of(event).size,
	}
	return server
}
