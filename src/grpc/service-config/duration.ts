/**
 * Durations of a service config: the JSON form of proto3's Duration, such as `"0.5s"`. The text is split at
 * the point, because `Number('1.005') * 1_000` is not 1,005.
 */
import { invalidOption } from '../../core/options/schema.ts'

/**
 * The range of proto3's Duration: 10,000 years. There is no smaller limit, because nothing needs one: timers
 * of the runtime wait longer than 2^31 ms, dates reach further, and the eight digits of `grpc-timeout` are
 * enough in hours.
 */
const MAX_SECONDS = 315_576_000_000

/** Seconds as a JSON number without sign and exponent, as A6 demands. */
const DURATION = /^(0|[1-9]\d*)(?:\.(\d{1,9}))?s$/

/** Returns a duration in milliseconds, 0 or more. Throws an InvalidOptionError. */
export function readDuration(path: string, value: unknown): number {
	const [, seconds, decimals = ''] = (typeof value === 'string' && DURATION.exec(value)) || []
	if (seconds === undefined || Number(seconds) > MAX_SECONDS)
		invalidOption(
			path,
			value,
			`a duration from "0s" to "${MAX_SECONDS}s" with at most nine decimals, such as "0.5s"`,
		)
	return Number(seconds) * 1_000 + Number(decimals.padEnd(9, '0')) / 1_000_000
}

/** The same, above 0. */
export function readPositiveDuration(path: string, value: unknown): number {
	const ms = readDuration(path, value)
	if (ms === 0) invalidOption(path, value, 'a duration above 0, such as "0.1s"')
	return ms
}
