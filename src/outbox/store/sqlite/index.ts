/** The outbox in one file. */
export type { SqliteStoreOptions } from './options.ts'
export { SqliteStore, sqliteStore } from './sqlite-store.ts'
