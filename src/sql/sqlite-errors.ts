/**
 * Classifies SQLite errors. The low byte of `errcode` is the kind, the other bits are details.
 * `better-sqlite3` has names instead of numbers: `SQLITE_BUSY_SNAPSHOT`, with the kind first.
 */
import { safeGet } from '../core/classify/safe-get.ts'

/** The kinds in the order of their numbers. PROTOCOL: too many connections opened the write-ahead log at the same time. */
const KINDS: readonly string[] = (
	'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN ' +
	'PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'
).split(' ')
const BUSY_SNAPSHOT = 517

const codesOf = (error: unknown): { readonly errcode?: unknown; readonly code?: unknown } => Object(error)

function kindOf(error: unknown): string {
	const { errcode, code } = codesOf(error)
	if (typeof errcode === 'number') return KINDS[errcode & 0xff] ?? ''
	const [prefix, kind = ''] = typeof code === 'string' ? code.split('_') : []
	return prefix === 'SQLITE' ? kind : ''
}

/** Does not use `instanceof`, because in Jest the errors of the driver belong to another realm. */
const messageOf = (error: unknown): string => String(safeGet(error, 'message') ?? '')

/** Returns true if another connection is writing, or a transaction is open on the store's own connection. */
export const isBusy = (error: unknown): boolean =>
	['BUSY', 'LOCKED', 'PROTOCOL'].includes(kindOf(error)) ||
	(kindOf(error) === 'ERROR' && messageOf(error).includes('within a transaction'))

/** Returns true if the transaction read before another connection wrote, so that it can no longer write. */
export const isStaleSnapshot = (error: unknown): boolean => {
	const { errcode, code } = codesOf(error)
	return errcode === BUSY_SNAPSHOT || code === 'SQLITE_BUSY_SNAPSHOT'
}

/** Returns true if the error is about one row's values, so that other rows can be written. */
export const isBadRow = (error: unknown): boolean =>
	['TOOBIG', 'CONSTRAINT', 'MISMATCH'].includes(kindOf(error))

/** Returns true if a table, column or index is missing. SQLite has no code for that, only the text. */
export const isSchemaMismatch = (error: unknown): boolean =>
	kindOf(error) === 'ERROR' &&
	/no such (table|column|index)|has no column named|no query solution/.test(messageOf(error))

const HINTS: Readonly<Record<string, string>> = {
	BUSY: 'Another connection holds a write transaction open. Keep transactions short and await nothing slow inside one. If it is your own transaction, pass it as { tx }.',
	READONLY: 'The database must be writable. Check the permissions of the file and of its folder.',
	IOERR: 'The disk or the file system failed. Check the system log.',
	CORRUPT: 'The file is corrupt. Run PRAGMA integrity_check and restore a backup.',
	FULL: 'The disk is full; nothing was written and nothing is lost. Free some space or raise max_page_count.',
	CANTOPEN: 'Check that the folder of the file exists and is writable.',
	NOTADB: 'The file is not an SQLite database, or it is encrypted. Use another file.',
}

/** Returns what the user can do about the error, if anything is known. */
export const sqliteHint = (error: unknown): string | undefined =>
	HINTS[isBusy(error) ? 'BUSY' : kindOf(error)]

/** How long work waits for a busy database before it is rejected. */
const BUSY_TIMEOUT_MS = 10_000
/** Work with fewer tries is not rejected, however much time has passed: the process did not run meanwhile. */
const MIN_TRIES = 50
const FIRST_PAUSE_MS = 1
const MAX_PAUSE_MS = 50
const PAUSE_GROWTH = 1.5

/** Returns whether work that found the database busy `tries` times tries again. */
export const mayWaitForBusy = (tries: number, waitedMs: number): boolean =>
	tries < MIN_TRIES || waitedMs < BUSY_TIMEOUT_MS

/** Returns the pause before the next try, with jitter. */
export const busyPauseMs = (pauses: number, random: number): number =>
	Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * PAUSE_GROWTH ** pauses) * (0.5 + random)
