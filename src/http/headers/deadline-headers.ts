/**
 * What is left of a deadline, in the header forms that services read today. The value is always a duration and never a time of day,
 * since no two machines have the same clock. Writing rounds down, so that the other side never believes in more time than
 * there is; reading is strict, because a number that was guessed would end somebody's request.
 */
import { checkRange } from '../../core/options/schema.ts'

/**
 * Headers that carry a deadline. Of Envoy's two names a client sends `x-envoy-upstream-rq-timeout-ms` to its proxy, and the
 * service behind is told by `x-envoy-expected-rq-timeout-ms`.
 */
export type DeadlineHeader =
	| 'x-request-timeout-ms'
	| 'grpc-timeout'
	| 'x-envoy-upstream-rq-timeout-ms'
	| 'x-envoy-expected-rq-timeout-ms'
	| 'connect-timeout-ms'

/** What a service is told by, whoever calls it. */
export const RECEIVED_DEADLINES: readonly DeadlineHeader[] = [
	'x-request-timeout-ms',
	'grpc-timeout',
	'x-envoy-expected-rq-timeout-ms',
	'connect-timeout-ms',
]

/** Headers by name: those of a web request, or anything that looks them up. */
export interface HeaderReader {
	get(name: string): string | null | undefined
}

interface Format {
	write(ms: number): string
	/** Undefined for what is malformed. */
	read(text: string): number | undefined
}

/** From the finest that is written. Microseconds and nanoseconds are only read: a request takes longer than that to arrive. */
const GRPC_UNITS: readonly (readonly [unit: string, ms: number])[] = [
	['m', 1],
	['S', 1_000],
	['M', 60_000],
	['H', 3_600_000],
	['u', 1e-3],
	['n', 1e-6],
]

const GRPC_MOST = 99_999_999

const grpc: Format = {
	write(ms) {
		for (const [unit, unitMs] of GRPC_UNITS) {
			const amount = Math.floor(ms / unitMs)
			if (amount <= GRPC_MOST) return `${amount}${unit}`
			if (unit === 'H') break
		}
		return `${GRPC_MOST}H`
	},
	read(text) {
		if (!/^\d{1,8}[HMSmun]$/.test(text)) return undefined
		const unit = GRPC_UNITS.find(([name]) => text.endsWith(name))
		return unit && Number(text.slice(0, -1)) * unit[1]
	},
}

/** Whole milliseconds of so many digits. */
const milliseconds = (digits: number, least = 0): Format => ({
	write: (ms) => String(Math.min(Math.max(least, Math.floor(ms)), 10 ** digits - 1)),
	read(text) {
		if (!/^\d+$/.test(text) || text.length > digits) return undefined
		const ms = Number(text)
		return ms < least ? undefined : ms
	},
})

const FORMATS: Readonly<Record<DeadlineHeader, Format>> = {
	'x-request-timeout-ms': milliseconds(15),
	'grpc-timeout': grpc,
	// To Envoy, 0 means no timeout at all, which is the opposite of nothing left.
	'x-envoy-upstream-rq-timeout-ms': milliseconds(15, 1),
	'x-envoy-expected-rq-timeout-ms': milliseconds(15),
	'connect-timeout-ms': milliseconds(10),
}

/** Is this a header that carries a deadline? */
export const isDeadlineHeader = (name: unknown): name is DeadlineHeader =>
	typeof name === 'string' && Object.hasOwn(FORMATS, name)

/** The names, for a message. */
export const deadlineHeaderNames = (): string => Object.keys(FORMATS).join(', ')

/**
 * What is left, as this header takes it: rounded down, and no more than the header has digits for.
 *
 * @example
 * writeDeadline('grpc-timeout', 1_500.7) // '1500m'
 */
export function writeDeadline(header: DeadlineHeader, remainingMs: number): string {
	checkRange('writeDeadline(remainingMs)', remainingMs)
	return FORMATS[header].write(remainingMs)
}

/**
 * The least that any of these headers leaves, in milliseconds; undefined when there is none. What is malformed is no deadline.
 *
 * @example
 * readDeadline(request.headers, ['x-request-timeout-ms', 'grpc-timeout'])
 */
export function readDeadline(headers: HeaderReader, names: readonly DeadlineHeader[]): number | undefined {
	let least: number | undefined
	for (const name of names) {
		const text = headers.get(name)
		const ms = text ? FORMATS[name].read(text.replace(/^[ \t]+|[ \t]+$/g, '')) : undefined
		if (ms !== undefined && (least === undefined || ms < least)) least = ms
	}
	return least
}
