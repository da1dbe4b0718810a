/**
 * The fields of a message besides its payload. What a database would refuse (NUL, half a surrogate pair, a key that is too long for an
 * index) is refused here, for inside of the user's transaction a refusal by the database would end the transaction as well. Lengths are
 * in bytes, since those are what an index has room for.
 */
import { types } from 'node:util'
import { InvalidMessageError, type Place, refuseField } from '../message/errors.ts'

/** The greatest length of a topic and of a destination, in bytes of UTF-8. */
export const NAME_BYTES = 255
/** The same of a key and of a dedupe key: three of PostgreSQL's index rows have to fit on a page. */
export const KEY_BYTES = 1_024
const HEADERS_BYTES = 65_536
/** What a column of 32 bits holds. */
const MOST_RETRIES = 2 ** 31 - 1

const LONE_SURROGATE = /\p{Surrogate}/u

const isPlainText = (text: string): boolean => !text.includes('\0') && !LONE_SURROGATE.test(text)

/** Refuses anything but a text that is not empty, not too long, and can be stored. */
export function checkText(place: Place, field: string, value: unknown, maxBytes: number): string {
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

/** The JSON of headers; null when there are none. */
export function toHeadersText(headers: unknown, place: Place): string | null {
	if (headers === undefined) return null
	// A Map, a Headers or a list has no names of its own, and would be written as if it were empty.
	if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers) {
		refuseField(place, 'headers', headers, 'a plain object of texts')
	}
	const names = Object.keys(headers)
	for (const name of names) {
		const value = (headers as Record<string, unknown>)[name]
		if (name === '' || !isPlainText(name)) {
			refuseField(
				place,
				'headers',
				name,
				'names that are not empty, without NUL and halves of surrogate pairs',
			)
		}
		if (typeof value !== 'string' || !isPlainText(value)) {
			const takes = 'a text without NUL and without halves of surrogate pairs'
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

/** Milliseconds since 1970; null when nothing was given. */
export function toTime(field: string, value: unknown, place: Place): number | null {
	if (value === undefined) return null
	if (!types.isDate(value)) refuseField(place, field, value, 'a Date')
	const time = value.getTime()
	if (Number.isNaN(time)) throw new InvalidMessageError(place, [{ field, message: 'got an invalid Date' }])
	return time
}

/** How many retries may follow; null when nothing was given. */
export function toMaxRetries(value: unknown, place: Place): number | null {
	if (value === undefined) return null
	if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MOST_RETRIES) {
		refuseField(place, 'maxRetries', value, 'a whole number, 0 or more')
	}
	return value
}
