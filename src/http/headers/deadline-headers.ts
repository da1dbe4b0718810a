/**
 * Writes and reads the remaining time of a deadline, in the headers that services use today. The value is always a duration and never a
 * time of day, because clocks differ between machines. Writing rounds down, so that a service never assumes more time than is left.
 * Reading is strict, because a guessed number could end a request too early.
 */

import { type HeaderLookup, trimBlanks } from '../../core/headers/header-values.ts'
import { checkRange } from '../../core/options/schema.ts'

/**
 * Headers that carry a deadline. Envoy has two: a client sends `x-envoy-upstream-rq-timeout-ms` to its proxy, and the proxy sends
 * `x-envoy-expected-rq-timeout-ms` to the service.
 */
export type DeadlineHeader =
	| 'x-request-timeout-ms'
	| 'grpc-timeout'
	| 'x-envoy-upstream-rq-timeout-ms'
	| 'x-envoy-expected-rq-timeout-ms'
	| 'connect-timeout-ms'

/** The headers that a service reads by default. */
export const RECEIVED_DEADLINES: readonly DeadlineHeader[] = [
	'x-request-timeout-ms',
	'grpc-timeout',
	'x-envoy-expected-rq-timeout-ms',
	'connect-timeout-ms',
]

interface Format {
	write(ms: number): string
	/** Returns undefined if the text is malformed. */
	read(text: string): number | undefined
}

/** Units for writing, the finest first. Microseconds and nanoseconds are only read: a request takes longer than that to arrive. */
const GRPC_UNITS: readonly (readonly [unit: string, ms: number])[] = [
	['m', 1],
	['S', 1_000],
	['M', 60_000],
	['H', 3_600_000],
	['u', 1e-3],
	['n', 1e-6],
]

const GRPC_MAX = 99_999_999

const grpc: Format = {
	write(ms) {
		for (const [unit, unitMs] of GRPC_UNITS) {
			const amount = Math.floor(ms / unitMs)
			if (amount <= GRPC_MAX) return `${amount}${unit}`
			if (unit === 'H') break
		}
		return `${GRPC_MAX}H`
	},
	read(text) {
		if (!/^\d{1,8}[HMSmun]$/.test(text)) return undefined
		const unit = GRPC_UNITS.find(([name]) => text.endsWith(name))
		return unit && Number(text.slice(0, -1)) * unit[1]
	},
}

/** Integer milliseconds of at least `min`, with at most `digits` digits. */
const milliseconds = (digits: number, min = 0): Format => ({
	write: (ms) => String(Math.min(Math.max(min, Math.floor(ms)), 10 ** digits - 1)),
	read(text) {
		if (!/^\d+$/.test(text) || text.length > digits) return undefined
		const ms = Number(text)
		return ms < min ? undefined : ms
	},
})

const FORMATS: Readonly<Record<DeadlineHeader, Format>> = {
	'x-request-timeout-ms': milliseconds(15),
	'grpc-timeout': grpc,
	// Envoy treats 0 as no timeout, so an expired deadline is sent as 1.
	'x-envoy-upstream-rq-timeout-ms': milliseconds(15, 1),
	'x-envoy-expected-rq-timeout-ms': milliseconds(15),
	'connect-timeout-ms': milliseconds(10),
}

/** Returns true for a header that carries a deadline. */
export const isDeadlineHeader = (name: unknown): name is DeadlineHeader =>
	typeof name === 'string' && Object.hasOwn(FORMATS, name)

/** Returns all header names, for error messages. */
export const deadlineHeaderNames = (): string => Object.keys(FORMATS).join(', ')

/**
 * Returns the header value for the remaining time: rounded down, and capped at what the header can express.
 *
 * @example
 * writeDeadline('grpc-timeout', 1_500.7) // '1500m'
 */
export function writeDeadline(header: DeadlineHeader, remainingMs: number): string {
	checkRange('writeDeadline(remainingMs)', remainingMs)
	return FORMATS[header].write(remainingMs)
}

/**
 * Returns the shortest remaining time of these headers in milliseconds, or undefined if none is set. Malformed values are ignored.
 *
 * @example
 * readDeadline(request.headers, ['x-request-timeout-ms', 'grpc-timeout'])
 */
export function readDeadline(headers: HeaderLookup, names: readonly DeadlineHeader[]): number | undefined {
	let shortest: number | undefined
	for (const name of names) {
		const text = headers.get(name)
		const ms = text ? FORMATS[name].read(trimBlanks(text)) : undefined
		if (ms !== undefined && (shortest === undefined || ms < shortest)) shortest = ms
	}
	return shortest
}
