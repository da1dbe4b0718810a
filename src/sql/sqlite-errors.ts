/**
 * Classifies SQLite errors. The low byte of `errcode` is the kind, the other bits are details.
 * `better-sqlite3` has names instead of numbers: `SQLITE_BUSY_SNAPSHOT`, with the kind first.
 */
import { safeGet } from '../core/classify/safe-get.ts'

const GENERIC = 1
const BUSY = 5
const LOCKED = 6
const READ_ONLY = 8
const IO = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
/** Too many connections opened the write-ahead log at the same time. */
const PROTOCOL = 15
const TOO_BIG = 18
const CONSTRAINT = 19
const MISMATCH = 20
const NOT_A_DATABASE = 26
const BUSY_SNAPSHOT = 517

const KINDS: ReadonlyMap<string, number> = new Map([
	['ERROR', GENERIC],
	['BUSY', BUSY],
	['LOCKED', LOCKED],
	['READONLY', READ_ONLY],
	['IOERR', IO],
	['CORRUPT', CORRUPT],
	['FULL', FULL],
	['CANTOPEN', CANNOT_OPEN],
	['PROTOCOL', PROTOCOL],
	['TOOBIG', TOO_BIG],
	['CONSTRAINT', CONSTRAINT],
	['MISMATCH', MISMATCH],
	['NOTADB', NOT_A_DATABASE],
])

const errorCode = (error: unknown): number => {
	const { errcode, code } = Object(error) as { errcode?: unknown; code?: unknown }
	if (typeof errcode === 'number') return errcode
	if (code === 'SQLITE_BUSY_SNAPSHOT') return BUSY_SNAPSHOT
	const [prefix, kind = ''] = typeof code === 'string' ? code.split('_') : []
	return prefix === 'SQLITE' ? (KINDS.get(kind) ?? 0) : 0
}
const kindOf = (error: unknown): number => errorCode(error) & 0xff

/** Not by `instanceof`: in Jest the driver's errors belong to another realm. */
const messageOf = (error: unknown): string => String(safeGet(error, 'message') ?? '')

/** Returns true if another connection is writing, or a transaction is open on the store's own connection. */
export const isBusy = (error: unknown): boolean =>
	[BUSY, LOCKED, PROTOCOL].includes(kindOf(error)) ||
	(kindOf(error) === GENERIC && messageOf(error).includes('within a transaction'))

/** Returns true if the transaction read before another connection wrote, so that it can no longer write. */
export const isStaleSnapshot = (error: unknown): boolean => errorCode(error) === BUSY_SNAPSHOT

/** Returns true if the error is about one row's values, so that other rows can be written. */
export const isBadRow = (error: unknown): boolean => [TOO_BIG, CONSTRAINT, MISMATCH].includes(kindOf(error))

/** Returns true if a table, column or index is missing. SQLite has no code for that, only the text. */
export const isSchemaMismatch = (error: unknown): boolean =>
	kindOf(error) === GENERIC &&
	/no such (table|column|index)|has no column named|no query solution/.test(messageOf(error))

const HINTS: Readonly<Record<number, string>> = {
	[BUSY]:
		'Another connection holds a write transaction open. Keep transactions short and await nothing slow inside one. If it is your own transaction, pass it as { tx }.',
	[READ_ONLY]: 'The database must be writable. Check the permissions of the file and of its folder.',
	[IO]: 'The disk or the file system failed. Check the system log.',
	[CORRUPT]: 'The file is corrupt. Run PRAGMA integrity_check and restore a backup.',
	[FULL]:
		'The disk is full; nothing was written and nothing is lost. Free some space or raise max_page_count.',
	[CANNOT_OPEN]: 'Check that the folder of the file exists and is writable.',
	[NOT_A_DATABASE]: 'The file is not an SQLite database, or it is encrypted. Use another file.',
}

/** Returns what the user can do about the error, if anything is known. */
export const sqliteHint = (error: unknown): string | undefined =>
	isBusy(error) ? HINTS[BUSY] : HINTS[kindOf(error)]

/** How long work waits for a busy database before it is rejected. */
const BUSY_TIMEOUT_MS = 10_000
/** Work that has tried less often is not rejected: not the database was busy, but the process did not run. */
const MIN_TRIES = 50
const FIRST_PAUSE_MS = 1
const MAX_PAUSE_MS = 50
const PAUSE_GROWTH = 1.5

/** Whether work that found the database busy `tries` times tries again. */
export const mayWaitForBusy = (tries: number, waitedMs: number): boolean =>
	tries < MIN_TRIES || waitedMs < BUSY_TIMEOUT_MS

/** Returns the pause before the next try, with jitter. */
export const busyPauseMs = (pauses: number, random: number): number =>
	Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * PAUSE_GROWTH ** pauses) * (0.5 + random)
