import { HEDGED, THROTTLED } from './hedging.ts'
import { BUFFERED, COMMITTED, CONFIGURED, EXPOSED, TRANSPARENT } from './internals.ts'
import { ATTEMPTS, BACKOFF, PUSHBACK, STATUS_CODES } from './retry.ts'
import type { Section } from './rule.ts'
import { HEDGING_POLICY, RETRY_POLICY, RETRY_THROTTLING } from './validation.ts'

/** All rules, in the order of the table. */
export const SECTIONS: readonly Section[] = [
	ATTEMPTS,
	BACKOFF,
	STATUS_CODES,
	HEDGED,
	THROTTLED,
	PUSHBACK,
	COMMITTED,
	BUFFERED,
	TRANSPARENT,
	EXPOSED,
	CONFIGURED,
	RETRY_POLICY,
	HEDGING_POLICY,
	RETRY_THROTTLING,
]
