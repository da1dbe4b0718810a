/**
 * What a response asks for, by whichever header it does. The headers in milliseconds come first: who sends them (OpenAI, Azure)
 * sends Retry-After as well, rounded up to whole seconds. A date is measured against the clock that wrote it, the response's own
 * Date: against ours, a machine that is five minutes slow would wait five minutes too long.
 */
import { type HeaderLookup, readDecimal } from './field-value.ts'
import { parseHttpDate } from './http-date.ts'
import { parseRetryAfter } from './retry-after.ts'

const IN_MILLISECONDS = ['retry-after-ms', 'x-ms-retry-after-ms']

/** The time on the server's clock when it answered, or `nowMs` when it does not say. */
export function readServerTime(headers: HeaderLookup, nowMs: number): number {
	return parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs
}

/** The wait in milliseconds that a response asks for, or undefined. `nowMs` is the wall clock. */
export function readRetryAfter(headers: HeaderLookup, nowMs: number): number | undefined {
	for (const name of IN_MILLISECONDS) {
		const wait = readDecimal(headers.get(name) ?? '')
		if (wait !== undefined) return wait
	}
	const value = headers.get('retry-after')
	return value === null ? undefined : parseRetryAfter(value, readServerTime(headers, nowMs))
}
