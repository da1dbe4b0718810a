/**
 * What an error of PostgreSQL means to the store. Most are passed on as they are, for the classifier knows them; what is
 * wrapped is what a person has to do something about.
 */
import { StoreError } from '../errors.ts'

/** The five letters by which PostgreSQL names an error. */
function sqlState(error: unknown): string {
	const code: unknown = (error as { code?: unknown } | null | undefined)?.code
	return typeof code === 'string' && code.length === 5 ? code : ''
}

/** A table, a schema or a column that is not there: most likely another version of the tables. */
export const isMissingObject = (error: unknown): boolean =>
	['42P01', '3F000', '42703'].includes(sqlState(error))

/** Is there no table at all, so that the version need not be looked up? */
export const isMissingTable = (error: unknown): boolean => ['42P01', '3F000'].includes(sqlState(error))

/** A value that can not be written: bad data, a broken constraint, a limit of the server. Trying again as it is can not help. */
export const isDataFault = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error))

const HINTS: Readonly<Record<string, string>> = {
	'53100': "the database's disk is full; nothing was written, and it works again once there is room",
	'53200': 'the database is out of memory',
	'53300': 'the database has no connection left; make the pools smaller or max_connections greater',
	'25006': 'the database is read-only, such as a standby; connect to the primary',
	'42501': "the database user may not do that; it needs the rights on the outbox's schema",
	'26000':
		'a pooler between here and the database forgot a prepared statement; make the store with { prepare: false }',
	'42P05':
		'a pooler between here and the database mixes up prepared statements; make the store with { prepare: false }',
}

/** The error with a hint, where there is something to be done about it. */
export function explained(error: unknown): unknown {
	const hint = HINTS[sqlState(error)]
	return hint === undefined ? error : new StoreError('the outbox could not use its database', error, hint)
}
