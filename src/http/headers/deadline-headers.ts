/**
 * Writes and reads the remaining time of a deadline, in the headers that services use today. The value is
 * always a duration and never a time of day, because clocks differ between machines. Writing rounds down, so
 * that a service never assumes more time than is left. Reading is strict, because a guessed number could end
 * a request too early.
 */

import { type HeaderLookup, trimBlanks } from '../../core/headers/header-values.ts'
import { checkAmount } from '../../core/options/schema.ts'

/**
 * Headers that carry a deadline. Envoy has two: a client sends `x-envoy-upstream-rq-timeout-ms` to its proxy,
 * and the proxy sends `x-envoy-expected-rq-timeout-ms` to the service.
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

type Unit = readonly [name: string, ms: number]

/** Units for writing, the finest first. */
const GRPC_UNITS: readonly Unit[] = [
	['m', 1],
	['S', 1_000],
	['M', 60_000],
	['H', 3_600_000],
]

/** These are only read: a request takes longer than that to arrive. */
const FINER_UNITS: readonly Unit[] = [
	['u', 1e-3],
	['n', 1e-6],
]

const GRPC_MAX = 99_999_999

function writeGrpc(ms: number): string {
	for (const [unit, unitMs] of GRPC_UNITS) {
		const amount = Math.floor(ms / unitMs)
		if (amount <= GRPC_MAX) return `${amount}${unit}`
	}
	return `${GRPC_MAX}H`
}

function readGrpc(text: string): number | undefined {
	if (!/^\d{1,8}[HMSmun]$/.test(text)) return undefined
	const isUnit = ([name]: Unit) => text.endsWith(name)
	const unit = GRPC_UNITS.find(isUnit) ?? FINER_UNITS.find(isUnit)
	return unit && Number(text.slice(0, -1)) * unit[1]
}

/** The most digits of an integer number of milliseconds, and the least number; `grpc` has a unit. */
const FORMATS: Readonly<Record<DeadlineHeader, readonly [digits: number, min: number] | 'grpc'>> = {
	'x-request-timeout-ms': [15, 0],
	'grpc-timeout': 'grpc',
	// Envoy treats 0 as no timeout, so an expired deadline is sent as 1.
	'x-envoy-upstream-rq-timeout-ms': [15, 1],
	'x-envoy-expected-rq-timeout-ms': [15, 0],
	'connect-timeout-ms': [10, 0],
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
 * writeDeadline('grpc-timeout', 1_500.7) // => '1500m'
 */
export function writeDeadline(header: DeadlineHeader, remainingMs: number): string {
	checkAmount('remainingMs', remainingMs)
	const format = FORMATS[header]
	if (format === 'grpc') return writeGrpc(remainingMs)
	const [digits, min] = format
	return String(Math.min(Math.max(min, Math.floor(remainingMs)), 10 ** digits - 1))
}

/** Returns the milliseconds in a header, or undefined if the text is malformed. */
function readMs(header: DeadlineHeader, text: string): number | undefined {
	const format = FORMATS[header]
	if (format === 'grpc') return readGrpc(text)
	const [digits, min] = format
	const isValid = /^\d+$/.test(text) && text.length <= digits && Number(text) >= min
	return isValid ? Number(text) : undefined
}

/**
 * Returns the shortest remaining time of these headers in milliseconds, or undefined if none is set.
 * Malformed values are ignored.
 *
 * @example
 * readDeadline(request.headers, ['x-request-timeout-ms', 'grpc-timeout'])
 */
export function readDeadline(headers: HeaderLookup, names: readonly DeadlineHeader[]): number | undefined {
	let shortest: number | undefined
	for (const name of names) {
		const text = headers.get(name)
		const ms = text ? readMs(name, trimBlanks(text)) : undefined
		if (ms !== undefined && (shortest === undefined || ms < shortest)) shortest = ms
	}
	return shortest
}
