/**
 * What SQLite's errors mean to the outbox. `node:sqlite` gives the number (`errcode`); its low byte says the kind and the rest
 * the details, so that only the low byte is looked at.
 */
import { YaokiError } from '../../../core/errors/errors.ts'
import { StoreError } from '../errors.ts'

const GENERIC = 1
const BUSY = 5
const LOCKED = 6
const READ_ONLY = 8
const IO = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
/** Too many at once have begun to use the write-ahead log. */
const PROTOCOL = 15
const TOO_BIG = 18
const CONSTRAINT = 19
const MISMATCH = 20
const NOT_A_DATABASE = 26

const kindOf = (error: unknown): number => {
	const { errcode } = Object(error) as { errcode?: unknown }
	return typeof errcode === 'number' ? errcode & 0xff : 0
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Does somebody else write at the moment? So does who has left a transaction open on the store's own connection. */
export const isBusy = (error: unknown): boolean =>
	[BUSY, LOCKED, PROTOCOL].includes(kindOf(error)) ||
	(kindOf(error) === GENERIC && messageOf(error).includes('within a transaction'))

/** Is it about what was to be written, so that another row may well be written? */
export const isBadRow = (error: unknown): boolean => [TOO_BIG, CONSTRAINT, MISMATCH].includes(kindOf(error))

/** May the tables be those of another version, or missing? */
export const isAboutSchema = (error: unknown): boolean =>
	kindOf(error) === GENERIC &&
	/no such (table|column|index)|has no column named|no query solution/.test(messageOf(error))

const HINTS: Readonly<Record<number, string>> = {
	[BUSY]:
		'somebody holds a write transaction open on this database; keep transactions short, and await nothing slow inside of one; if the transaction is your own and you enqueue inside of it, pass it as { tx }',
	[READ_ONLY]: 'the outbox must be able to write; look at the permissions of the file and of its folder',
	[IO]: 'the disk or the file system failed; look at the log of the system',
	[CORRUPT]: 'the file is damaged; run PRAGMA integrity_check, and take it from a backup',
	[FULL]:
		'nothing was written and nothing is lost; make room on the disk (or raise max_page_count) and it goes on',
	[CANNOT_OPEN]: 'look whether the folder of the file exists and may be written to',
	[NOT_A_DATABASE]:
		'the file is something else (or encrypted); give the outbox a file of its own or an SQLite database',
}

/** The error as callers get it; `cause` is SQLite's own. */
export function storeError(doing: string, error: unknown): Error {
	if (error instanceof YaokiError) return error
	const hint = isBusy(error) ? HINTS[BUSY] : HINTS[kindOf(error)]
	return new StoreError(doing, error, hint)
}
