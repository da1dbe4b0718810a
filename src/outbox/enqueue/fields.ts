/**
 * Checks the fields of a message other than its payload. Everything that a database would reject (NUL, lone
 * surrogates, a key too long for an index) is rejected here, because inside the user's transaction an error
 * of the database would abort the transaction. Lengths are in bytes, because indexes limit bytes.
 */
import { types } from 'node:util'
import { InvalidMessageError, invalidField, type MessageRef } from '../message/errors.ts'
import { MAX_RETRIES, UNLIMITED_RETRIES } from '../message/record.ts'

/** Maximum length of a topic and of a destination, in bytes of UTF-8. */
export const NAME_BYTES = 255
/** Maximum length of a key and of a dedupe key: three of PostgreSQL's index rows must fit on a page. */
export const KEY_BYTES = 1_024
export const HEADERS_BYTES = 65_536

const LONE_SURROGATE = /\p{Surrogate}/u

/** An HTTP token. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/** Control characters except tab. */
const CONTROL = /[^\t\P{Cc}\x80-\x9f]/u

export const isStorable = (text: string): boolean => !text.includes('\0') && !LONE_SURROGATE.test(text)

/** Returns the value if it is a non-empty string that can be stored in `maxBytes`. */
export function checkText(ref: MessageRef, field: string, value: unknown, maxBytes: number): string {
	if (typeof value !== 'string' || value === '') invalidField(ref, field, value, 'a non-empty string')
	if (!isStorable(value))
		invalidField(ref, field, value, 'a string without NUL characters and lone surrogates')
	// A UTF-16 unit takes at most three bytes.
	if (value.length * 3 > maxBytes) {
		const bytes = Buffer.byteLength(value)
		if (bytes > maxBytes)
			invalidField(ref, field, value, `at most ${maxBytes} bytes of UTF-8 (this has ${bytes})`)
	}
	return value
}

/** Headers that an observer adds to messages, such as the trace context. They are valid. */
export type AddedHeaders = Readonly<Record<string, string>> | undefined

/**
 * Returns headers as JSON; null without headers. Headers that HTTP cannot carry are rejected for every
 * destination: they would fail at delivery, and the destination of a message can be changed after it was
 * enqueued.
 */
export function toHeadersText(headers: unknown, ref: MessageRef, added?: AddedHeaders): string | null {
	if (headers === undefined) return added === undefined ? null : JSON.stringify(added)
	// JSON.stringify writes a Map or Headers as {}.
	if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers)
		invalidField(ref, 'headers', headers, 'a plain object with string values')
	const names = Object.keys(headers)
	for (const name of names) {
		const value = (headers as Record<string, unknown>)[name]
		if (!HEADER_NAME.test(name))
			invalidField(ref, 'headers', name, "valid HTTP header names (letters, digits and !#$%&'*+-.^_`|~)")
		if (typeof value !== 'string' || CONTROL.test(value) || LONE_SURROGATE.test(value)) {
			const expected = 'a string without line breaks, control characters and lone surrogates'
			invalidField(ref, `headers[${JSON.stringify(name)}]`, value, expected)
		}
	}
	if (names.length === 0 && added === undefined) return null
	const text = JSON.stringify(added === undefined ? headers : withAdded(headers, names, added))
	if (text.length * 3 > HEADERS_BYTES && Buffer.byteLength(text) > HEADERS_BYTES) {
		// An observer must not make a message invalid.
		if (added !== undefined) return toHeadersText(headers, ref)
		invalidField(ref, 'headers', headers, `at most ${HEADERS_BYTES} bytes of JSON`)
	}
	return text
}

/** Added headers belong together, such as `traceparent` and `tracestate`: a message with one gets none. */
function withAdded(headers: object, names: readonly string[], added: NonNullable<AddedHeaders>): object {
	const given = new Set(names.map((name) => name.toLowerCase()))
	return Object.keys(added).some((name) => given.has(name.toLowerCase())) ? headers : { ...added, ...headers }
}

/** Returns milliseconds since 1970; null for undefined. Earlier dates become 0, because relays scan from 0 on. */
export function toTime(field: string, value: unknown, ref: MessageRef): number | null {
	if (value === undefined) return null
	if (!types.isDate(value)) invalidField(ref, field, value, 'a Date')
	const time = value.getTime()
	if (Number.isNaN(time))
		throw new InvalidMessageError(ref, [{ field, message: 'expected a valid Date, got an invalid one' }])
	return Math.max(0, time)
}

export function toMaxRetries(value: unknown, ref: MessageRef): number | null {
	if (value === undefined) return null
	if (value === Infinity) return UNLIMITED_RETRIES
	if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_RETRIES)
		invalidField(ref, 'maxRetries', value, `an integer from 0 to ${MAX_RETRIES}, or Infinity`)
	return value
}
