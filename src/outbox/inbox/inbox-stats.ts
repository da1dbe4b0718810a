/** What `stats()` of an inbox returns. Telemetry reads it, and runs where the inbox does not. */
import type { InboxCounts } from './store/store.ts'

/** The marks of one inbox. `inbox.stats()` returns it. */
export interface InboxStats extends Omit<InboxCounts, 'inbox'> {
	/** Messages that are remembered. At most 10,000 are counted. */
	readonly marks: InboxCounts['marks']
	/** Marks whose retention is over, and that have not been deleted yet. At most 10,000 are counted. */
	readonly expired: InboxCounts['expired']
	/** The age of the oldest mark; null without marks. */
	readonly oldestAgeMs: number | null
}
