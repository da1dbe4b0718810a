/** The result of one check. A failed one says what is wrong, since when, and what to do. */
import type { CappedCount } from '../../../outbox/store/store-stats.ts'
import { formatCount, formatNumber } from '../../../text/format.ts'
import { sanitizeLine } from '../../../text/sanitize.ts'
import type { Style } from '../../../text/style.ts'

/** Programs read it from `--json`. */
export type CheckName =
	| 'schema'
	| 'clock'
	| 'lag'
	| 'age'
	| 'attempts'
	| 'failing'
	| 'blocked'
	| 'dead'
	| 'relays'
	| 'paused'
	| 'webhooks'
	| 'poison'

export interface HealthCheck {
	readonly name: CheckName
	readonly ok: boolean
	/** What was found. */
	readonly message: string
	/**
	 * When the problem started, by the database's clock; null if the check is ok, or if the time is unknown.
	 */
	readonly since: Date | null
	/** What to do; null if the check is ok. */
	readonly action: string | null
}

export const passed = (name: CheckName, message: string): HealthCheck => ({
	name,
	ok: true,
	message,
	since: null,
	action: null,
})

export const failed = (
	name: CheckName,
	message: string,
	since: number | null,
	action: string,
): HealthCheck => ({ name, ok: false, message, since: since === null ? null : new Date(since), action })

/** Returns `at least 10,000 messages` if counting stopped there. */
export const formatCapped = ({ count, isCapped }: CappedCount, noun: string): string =>
	`${isCapped ? 'at least ' : ''}${formatCount(count, noun)}`

/** Returns ` and 2 more destinations`, or nothing. */
export const andMore = (others: number): string =>
	others === 0 ? '' : ` and ${formatNumber(others)} more ${others === 1 ? 'destination' : 'destinations'}`

export function renderCheck({ name, ok, message, action }: HealthCheck, style: Style): string {
	const text = action === null ? message : `${message}; ${action}`
	return `${ok ? style.green('ok    ') : style.red('failed')}  ${name.padEnd(8)}  ${sanitizeLine(text)}`
}
