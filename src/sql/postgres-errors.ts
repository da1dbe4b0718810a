/** Classifies PostgreSQL errors by SQLSTATE. Most errors pass through unchanged, because the classifier knows them. */

/** Where drivers and ORMs keep the SQLSTATE. */
interface DatabaseError {
	readonly code?: unknown
	/** Sequelize. */
	readonly original?: { readonly code?: unknown } | null
	/** Prisma, whose own codes have five characters too. */
	readonly meta?: {
		readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown } }
	}
}

/** Returns the SQLSTATE; '' if the server did not respond with an error. */
export function sqlState(error: unknown): string {
	const { code, original, meta } = Object(error) as DatabaseError
	const state = meta?.driverAdapterError?.cause?.originalCode ?? original?.code ?? code
	return typeof state === 'string' && state.length === 5 ? state : ''
}

/** Returns true for a missing table, schema or column: usually tables of another version. */
export const isMissingObject = (error: unknown): boolean =>
	['42P01', '3F000', '42703'].includes(sqlState(error))

/** Returns true for a missing table or schema, so that the version need not be looked up. */
export const isMissingTable = (error: unknown): boolean => ['42P01', '3F000'].includes(sqlState(error))

/** Returns true if a statement came without values for its parameters, or with too few. */
export const isWithoutValues = (error: unknown): boolean => ['42P02', '08P01'].includes(sqlState(error))

/** Returns true for a value that cannot be written: bad data, a violated constraint, a server limit. Retrying it unchanged cannot succeed. */
export const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error))

/** Returns true if the server cancelled the statement: because of its `statement_timeout`, or on request. */
export const isCancelledStatement = (error: unknown): boolean => sqlState(error) === '57014'

/** Returns true if the statement met a concurrent one at an isolation level above read committed, or a deadlock: nothing was written. */
export const isSerializationFailure = (error: unknown): boolean =>
	['40001', '40P01'].includes(sqlState(error))

/** Returns true if an earlier statement of the transaction has failed: every statement until its ROLLBACK does. */
export const isFailedTransaction = (error: unknown): boolean => sqlState(error) === '25P02'

/** Returns true if a prepared statement does not exist. */
export const isMissingStatement = (error: unknown): boolean => sqlState(error) === '26000'

/** Returns true if a prepared statement of that name exists. */
export const isDuplicateStatement = (error: unknown): boolean => sqlState(error) === '42P05'

/** Returns true if a prepared statement is missing, or exists although this client has not prepared it: a pooler changed the connection. */
export const isLostStatement = (error: unknown): boolean =>
	isMissingStatement(error) || isDuplicateStatement(error)

const READ_ONLY = '25006'

/**
 * Returns the error that PostgreSQL has for a plain `statement` in a read-only transaction, for all ORMs alike: some
 * put their text before it, and a common table expression is reported as a SELECT. Other errors are returned as they are.
 */
export function plainReadOnlyError(error: unknown, statement: 'INSERT' | 'UPDATE'): unknown {
	if (sqlState(error) !== READ_ONLY) return error
	const text = `cannot execute ${statement} in a read-only transaction (SQLSTATE ${READ_ONLY})`
	return Object.assign(new Error(text, { cause: error }), { code: READ_ONLY })
}

const HINTS: Readonly<Record<string, string>> = {
	'53100': 'The disk of the database is full; nothing was written. Free some space.',
	'53200': 'The database is out of memory.',
	'53300': 'The database has no free connection. Reduce the pool sizes or raise max_connections.',
	[READ_ONLY]: 'Start a transaction that may write, on the primary and not on a replica.',
	'42501': 'The database user lacks privileges on the schema.',
	'26000': 'A connection pooler dropped a prepared statement. Create the store with { prepare: false }.',
	'42P05': 'A connection pooler mixed up prepared statements. Create the store with { prepare: false }.',
}

/** Returns what the user can do about the error, if anything is known. */
export const postgresHint = (error: unknown): string | undefined => HINTS[sqlState(error)]
