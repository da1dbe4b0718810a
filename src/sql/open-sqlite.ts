/** Opens an SQLite file, with `node:sqlite` or by the user's function. */
import { invalidOption } from '../core/options/schema.ts'
import { AdaptedBetterSqlite, type BetterSqliteDatabase, isBetterSqlite } from './better-sqlite.ts'
import type { SqliteDatabase } from './clients.ts'
import { builtinModule } from './node-modules.ts'

interface NodeSqlite {
	readonly DatabaseSync: new (file: string) => SqliteDatabase
}

/** Returns undefined if the runtime has no `node:sqlite`. It is loaded on first use, so that users of PostgreSQL never load it. */
export function openNodeSqlite(file: string): SqliteDatabase | undefined {
	const sqlite = builtinModule<NodeSqlite>('node:sqlite')
	return sqlite && new sqlite.DatabaseSync(file)
}

/** What to do without `node:sqlite`. */
export const NO_NODE_SQLITE = 'Use Node 22.13 or later (22.5 with --experimental-sqlite), or PostgreSQL.'

/** Opens the file by the option `open`. */
export function openBetterSqlite(open: (file: string) => BetterSqliteDatabase, file: string): SqliteDatabase {
	const database = open(file)
	if (!isBetterSqlite(Object(database)))
		invalidOption('open', database, 'a function that returns a Database of better-sqlite3')
	return new AdaptedBetterSqlite(database)
}
