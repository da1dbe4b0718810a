/** Defaults of a relay that an inbox needs too: how long a sender repeats a message depends on them. */

/** Timeout of a handler. */
export const DEFAULT_TIMEOUT_MS = 30_000

/** Upper limit for Retry-After: one hour. */
export const DEFAULT_MAX_RETRY_AFTER_MS = 3_600_000
