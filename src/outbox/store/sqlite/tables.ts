/** The columns that a message takes along wherever it is moved. */
export const MOVED_COLUMNS =
	'seq, id, destination, topic, key, due_at, created_at, expires_at, attempts, max_retries, delay_ms, crashes, dedupe_key, payload, headers'

const ERROR_COLUMNS = 'error_type, error_message, error_fingerprint'

/** The same with its latest failure. */
export const HISTORY_COLUMNS: string = `${MOVED_COLUMNS}, ${ERROR_COLUMNS}`
