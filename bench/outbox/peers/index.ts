/** The contenders by name. Each is imported only where it runs. */
import type { Peer } from '../peer.ts'

export const YAOKI = 'yaoki'
export const YAOKI_ONE_KEY = 'yaoki, one key in order'
export const YAOKI_SQLITE = 'yaoki on SQLite'
export const RAW_SQLITE = 'raw claim + delete on SQLite'
export const RAW = 'raw claim + delete'
export const RAW_AT_ONCE = 'raw delete returning'
export const RAW_ONE_BY_ONE = 'raw, a commit per message'
export const BARE = 'bare INSERT'
export const BARE_VALUES = 'bare INSERT of 1,000 VALUES'
export const BARE_ARRAYS = 'bare INSERT of one array per column'
export const BARE_JSON = 'bare INSERT of one JSON parameter'
export const GRAPHILE = 'graphile-worker 0.18'
export const PG_BOSS = 'pg-boss 12'
export const BULLMQ_REDIS = 'BullMQ 6 on Redis'
export const BULLMQ_POSTGRES = 'BullMQ 6 on PostgreSQL'

/** Peers with the same features for users as the outbox. */
export const QUEUES: readonly string[] = [GRAPHILE, PG_BOSS, BULLMQ_POSTGRES, BULLMQ_REDIS]

export const PEERS: Readonly<Record<string, (url: string) => Promise<Peer>>> = {
	[YAOKI]: async (url) => (await import('./yaoki.ts')).yaoki(url),
	[YAOKI_ONE_KEY]: async (url) => (await import('./yaoki.ts')).yaoki(url, 'hot'),
	[YAOKI_SQLITE]: async (file) => (await import('./yaoki.ts')).yaokiOnSqlite(file),
	[RAW_SQLITE]: async (file) => (await import('./raw-sqlite.ts')).rawOnSqlite(file),
	[RAW]: async (url) => (await import('./raw.ts')).raw(url, 'claim'),
	[RAW_AT_ONCE]: async (url) => (await import('./raw.ts')).raw(url, 'together'),
	[RAW_ONE_BY_ONE]: async (url) => (await import('./raw.ts')).raw(url, 'one by one'),
	[GRAPHILE]: async (url) => (await import('./graphile.ts')).graphile(url),
	[PG_BOSS]: async (url) => (await import('./pg-boss.ts')).pgBoss(url),
	[BULLMQ_REDIS]: async (url) => (await import('./bullmq.ts')).bullmqOnRedis(url),
	[BULLMQ_POSTGRES]: async (url) => (await import('./bullmq.ts')).bullmqOnPostgres(url),
}
