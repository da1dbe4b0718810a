/**
 * Asks PostgreSQL whether a transaction is open, in the statement that writes. Most client objects show it; for
 * others only the server knows, and no function of it says so: `now() <> statement_timestamp()` is also true
 * outside a transaction, because a statement with parameters is several protocol messages and the first one starts
 * the clock. But a transaction that has written has an id before this statement writes, so the statement writes
 * only then. Without an id it leaves a setting that lasts until the end of the transaction and is repeated if the
 * setting is still there: a second round trip, only if the row is the first write of its transaction.
 */

/**
 * Returns a common table expression: `transaction.is_open` in a transaction that has written, or that has the
 * setting `expected`. Makes `setting` the setting until the end of the transaction. Both are parameters.
 */
export const transactionSql = (expected: string, setting: string): string => `
transaction as materialized (
	select pg_current_xact_id_if_assigned() is not null or current_setting('yaoki.transaction', true) = ${expected}::text as is_open,
		set_config('yaoki.transaction', ${setting}::text, true) as setting
),`

/** Makes $1 the setting until the end of the transaction. */
export const LEAVE_SETTING = "select set_config('yaoki.transaction', $1::text, true)"

/** No setting has this value. */
const NONE = 'none'

/**
 * Runs a statement that asks, and returns its result; undefined if no transaction is open. `run` returns
 * undefined if the statement found none. It runs twice, because the first time may only leave the setting.
 */
export async function inOpenTransaction<T>(
	setting: string,
	run: (expected: string) => Promise<T | undefined>,
): Promise<T | undefined> {
	return (await run(NONE)) ?? run(setting)
}
