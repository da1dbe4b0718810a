import type { Runtime } from '../../core/runtime/runtime.ts'
import type { BreakerOptions, RelayRetryOptions } from '../destinations/destination.ts'
import type { RelayListener } from './events.ts'

/** How a relay works. */
export interface RelayOptions {
	/** What it is called in events. Default `'relay'`. */
	readonly name?: string | undefined
	/** How failed messages are retried. Default: the preset `messageQueue`. */
	readonly retry?: RelayRetryOptions | undefined
	/** When a destination is left alone; false for never. Default: 5 failures in a row, for 5 to 10 s by chance, growing to 5 minutes. */
	readonly breaker?: BreakerOptions | false | undefined
	/** How many messages are sent at a time to each destination. Default 16. */
	readonly concurrency?: number | undefined
	/** How many messages are in flight in all. Default 1,000. */
	readonly maxInFlight?: number | undefined
	/** How many messages one claim takes at most for each destination. Default 2,000. */
	readonly batchSize?: number | undefined
	/** How long a message stays claimed by a relay that is not heard of. Default 60,000. */
	readonly leaseMs?: number | undefined
	/** How long a handler may take. Default 30,000. */
	readonly timeoutMs?: number | undefined
	/** The longest time between two looks, for what no bell told of. Default 1,000. */
	readonly pollMs?: number | undefined
	/** A message that so many processes died with is not tried again. Default 3. */
	readonly maxCrashes?: number | undefined
	/** In this time after an outage a destination comes back to its full concurrency. Default 10,000. */
	readonly rampUpMs?: number | undefined
	/** A Retry-After longer than this is cut. Default one hour. */
	readonly maxRetryAfterMs?: number | undefined
	/** Told every event. */
	readonly onEvent?: RelayListener | undefined
	/** Time and chance of this process. Default: the system's. */
	readonly runtime?: Runtime | undefined
}
