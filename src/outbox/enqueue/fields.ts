/**
 * The fields of a message besides its payload. What a database would refuse (NUL, half a surrogate pair, a key that is too long for an
 * index) is refused here, for inside of the user's transaction a refusal by the database would end the transaction as well. Lengths are
 * in bytes, since those are what an index has room for.
 */
import { types } from 'node:util'
import { InvalidMessageError, type MessageRef, refuseField } from '../message/errors.ts'

/** The greatest length of a topic and of a destination, in bytes of UTF-8. */
export const NAME_BYTES = 255
/** The same of a key and of a dedupe key: three of PostgreSQL's index rows have to fit on a page. */
export const KEY_BYTES = 1_024
export const HEADERS_BYTES = 65_536
/** What a column of 32 bits holds. */
const MOST_RETRIES = 2 ** 31 - 1

const LONE_SURROGATE = /\p{Surrogate}/u

/** What HTTP calls a token: the only names of headers that it has. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/** What would end a header or be refused in one; a tab is neither. */
const CONTROL = /[^\t\P{Cc}\x80-\x9f]/u

const isPlainText = (text: string): boolean => !text.includes('\0') && !LONE_SURROGATE.test(text)

/** Refuses anything but a text that is not empty, not too long, and can be stored. */
export function checkText(place: MessageRef, field: string, value: unknown, maxBytes: number): string {
	if (typeof value !== 'string' || value === '') refuseField(place, field, value, 'a text that is not empty')
	if (!isPlainText(value)) {
		refuseField(place, field, value, 'a text without NUL and without halves of surrogate pairs')
	}
	// No UTF-16 unit takes more than three bytes.
	if (value.length * 3 > maxBytes) {
		const bytes = Buffer.byteLength(value)
		if (bytes > maxBytes) refuseField(place, field, value, `at most ${maxBytes} bytes, and this has ${bytes}`)
	}
	return value
}

/**
 * The JSON of headers; null when there are none. What no HTTP request can carry is refused for every destination: found out when it is sent, it
 * would be a dead letter, and the destination of a message may be changed after it was enqueued.
 */
export function toHeadersText(headers: unknown, place: MessageRef): string | null {
	if (headers === undefined) return null
	// A Map, a Headers or a list has no names of its own, and would be written as if it were empty.
	if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers) {
		refuseField(place, 'headers', headers, 'a plain object of texts')
	}
	const names = Object.keys(headers)
	for (const name of names) {
		const value = (headers as Record<string, unknown>)[name]
		if (!HEADER_NAME.test(name)) {
			refuseField(place, 'headers', name, "names as HTTP has them: letters, digits and !#$%&'*+-.^_`|~")
		}
		if (typeof value !== 'string' || CONTROL.test(value) || LONE_SURROGATE.test(value)) {
			const takes = 'a text without line breaks, control characters and halves of surrogate pairs'
			refuseField(place, `headers[${JSON.stringify(name)}]`, value, takes)
		}
	}
	if (names.length === 0) return null
	const text = JSON.stringify(headers)
	if (text.length * 3 > HEADERS_BYTES && Buffer.byteLength(text) > HEADERS_BYTES) {
		refuseField(place, 'headers', headers, `at most ${HEADERS_BYTES} bytes of JSON`)
	}
	return text
}

/**
 * Milliseconds since 1970; null when nothing was given. What is before that is put at its beginning: relays look for what is due from there
 * on, and a `notBefore` of the year 1 was a message that none of them ever saw.
 */
export function toTime(field: string, value: unknown, place: MessageRef): number | null {
	if (value === undefined) return null
	if (!types.isDate(value)) refuseField(place, field, value, 'a Date')
	const time = value.getTime()
	if (Number.isNaN(time)) throw new InvalidMessageError(place, [{ field, message: 'got an invalid Date' }])
	return Math.max(0, time)
}

/** How many retries may follow; null when nothing was given. */
export function toMaxRetries(value: unknown, place: MessageRef): number | null {
	if (value === undefined) return null
	if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MOST_RETRIES) {
		refuseField(place, 'maxRetries', value, 'a whole number, 0 or more')
	}
	return value
}
