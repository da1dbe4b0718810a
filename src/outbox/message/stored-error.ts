/**
 * Converts an error for storage: short, valid for any database, and with a fingerprint that turns ten
 * thousand dead letters into three groups. The fingerprint covers what stays the same when the same failure
 * happens to another message, so everything that looks like a value is removed first: a group that is too
 * wide is easy to split, while a thousand groups of one are useless. For the same reason the response body is
 * stored but not part of the fingerprint.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { quoteBody } from '../../core/errors/errors.ts'
import { errorFacts, reduceUrls } from '../../core/events/error-facts.ts'
import type { ErrorFacts } from '../../core/events/events.ts'
import type { StoredError } from './message.ts'

const MAX_MESSAGE = 500
const MAX_TYPE = 100
const MAX_BODY = 200
/** How much of a text is processed: some errors quote a whole body. */
const MAX_PROCESSED = 2_000
/** The fingerprint ignores the rest: a text that was cut off elsewhere must not matter. */
const MAX_PATTERN = 300

/** Converts anything that was thrown. Never throws, even for hostile objects. */
export function toStoredError(error: unknown): StoredError {
	const type = errorName(error)
	const status = httpStatus(error)
	const text = errorMessage(error, status)
	const kind = [type, status ?? '', errorCode(error)]
	const pattern = truncate(withoutValues(text), MAX_PATTERN)
	// Loaded on first use, as for the ids of messages.
	const fingerprint = process
		.getBuiltinModule('node:crypto')
		.createHash('sha256')
		.update([...kind, pattern].join('\n'))
		.digest('hex')
		.slice(0, 12)
	const body = status === undefined ? '' : responseBody(error)
	const message = body === '' || text.includes(body) ? text : `${text}: ${body}`
	return { type, message: truncate(message, MAX_MESSAGE), fingerprint }
}

/** Returns the message without the response body, which may have personal data: events are logged. */
export const messageForEvents = (error: unknown): string =>
	truncate(reduceUrls(errorMessage(error, httpStatus(error))), MAX_MESSAGE)

/** Returns the facts of an error for events, without the response body: see {@link messageForEvents}. */
export const factsForEvents = (error: unknown): ErrorFacts => ({
	...errorFacts(error),
	errorMessage: messageForEvents(error),
})

export function errorName(error: unknown): string {
	const name = isObject(error) ? firstLine(safeGet(error, 'name')) : ''
	return name === '' ? (error === null ? 'null' : typeof error) : truncate(name, MAX_TYPE)
}

function errorMessage(error: unknown, status: number | undefined): string {
	if (error === undefined || error === null) return `${error} was thrown`
	if (!isObject(error)) return firstLine(String(error))
	const own = ownMessage(error)
	// "fetch failed" says nothing: the reason is in the cause, and an AggregateError may have no message.
	const cause = safeGet(error, 'cause') ?? safeGet(safeGet(error, 'errors'), '0')
	const inner = causeText(cause)
	const text = [own, own.includes(inner) ? '' : inner].filter((part) => part !== '').join(': ')
	if (status === undefined || text.includes(`${status}`)) return text || errorCode(error)
	return text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`
}

/** Returns the code of a cause if it says more than the message, as ECONNREFUSED does, and YAOKI_HTTP does not. */
function causeText(cause: unknown): string {
	if (typeof cause === 'string') return firstLine(cause)
	const code = errorCode(cause)
	return code.startsWith('YAOKI') ? ownMessage(cause) || code : code || ownMessage(cause)
}

/** Returns the message without the body that an HttpError quotes: the body is not part of the fingerprint. */
function ownMessage(error: unknown): string {
	const message = firstLine(safeGet(error, 'message'))
	const quoted = quoteBody(safeGet(error, 'body'))
	return quoted && message.endsWith(quoted) ? message.slice(0, -quoted.length) : message
}

/** Returns the HTTP status, which is part of the fingerprint: a 404 and a 503 are different failures. */
function httpStatus(error: unknown): number | undefined {
	const candidates = [
		safeGet(error, 'statusCode'),
		safeGet(error, 'status'),
		safeGet(safeGet(error, 'response'), 'status'),
		safeGet(safeGet(error, 'response'), 'statusCode'),
	]
	return candidates.find(isStatus)
}

export const isStatus = (value: unknown): value is number =>
	typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599

const CODE = /^(?:[A-Z][A-Z_]{1,49}|[A-Z][A-Z0-9_]{1,19}|[0-9A-Z]{5})$/

/** Returns what an error says about the response: its status, and the start of its body as it is. */
export function responseOf(
	error: unknown,
	maxChars: number,
): { readonly statusCode: number | undefined; readonly body: string | undefined } {
	const statusCode = httpStatus(error)
	const body = statusCode === undefined ? undefined : (safeGet(error, 'body') ?? undefined)
	try {
		const text = body === undefined || typeof body === 'string' ? body : jsonText(body, maxChars)
		return { statusCode, body: text && truncate(text, maxChars) }
	} catch {
		return { statusCode, body: undefined }
	}
}

/** Returns a code such as `ECONNREFUSED` or `23505`. Longer texts may contain an id. */
function errorCode(error: unknown): string {
	const code = safeGet(error, 'code')
	return typeof code === 'string' && CODE.test(code) ? code : ''
}

/** Returns the start of the HTTP response body: "no such product" explains what a status cannot. */
function responseBody(error: unknown): string {
	const body = safeGet(error, 'body') ?? ''
	try {
		const text = typeof body === 'string' ? body : jsonText(body, MAX_BODY)
		return truncate(firstLine(text, /[\p{L}\p{N}]/u), MAX_BODY)
	} catch {
		return ''
	}
}

const MAX_JSON_DEPTH = 4

/**
 * Returns the start of the value as JSON, little more than `room` characters, because a body may have
 * megabytes. Only plain data is read: a stream, a getter or a `toJSON` is foreign code, which may consume the
 * body or never end.
 */
function jsonText(value: unknown, room: number, depth = 0): string {
	if (typeof value === 'string') return JSON.stringify(value.slice(0, room))
	if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`
	// Never empty: every value must use up some room, or a million of these would all be visited.
	if (!isPlain(value) || depth === MAX_JSON_DEPTH) return '…'
	let text = ''
	for (const [label, item] of members(value)) {
		if (text.length >= room) break
		const comma = text === '' ? '' : ','
		text += comma + label.slice(0, room) + jsonText(item, room - text.length, depth + 1)
	}
	return Array.isArray(value) ? `[${text}]` : `{${text}}`
}

/** A generator, because `for in` would first list all indexes of an array. */
function* members(value: object): Generator<readonly [label: string, item: unknown]> {
	const read = (name: PropertyKey): unknown => Object.getOwnPropertyDescriptor(value, name)?.value
	if (Array.isArray(value)) for (let at = 0; at < value.length; at += 1) yield ['', read(at)]
	else for (const name in value) yield [`${JSON.stringify(name)}:`, read(name)]
}

function isPlain(value: unknown): value is object {
	if (typeof value !== 'object' || value === null) return false
	const prototype: unknown = Object.getPrototypeOf(value)
	return prototype === null || prototype === Object.prototype || Array.isArray(value)
}

const isObject = (value: unknown): boolean =>
	(typeof value === 'object' && value !== null) || typeof value === 'function'

/** Returns the first line with content: the first line of formatted JSON is only a brace. */
function firstLine(text: unknown, content = /[^\s\p{Cc}]/u): string {
	if (typeof text !== 'string') return ''
	const line = text
		.slice(0, MAX_PROCESSED)
		.split(/[\r\n\u2028\u2029]/)
		.find((candidate) => content.test(candidate))
	// PostgreSQL rejects NUL; other control characters would garble a terminal.
	return (line ?? '')
		.replace(/\p{Cc}+/gu, ' ')
		.replace(/\p{Surrogate}/gu, '\uFFFD')
		.trim()
}

/** Cuts a text without splitting a surrogate pair. */
export function truncate(text: string, length: number): string {
	if (text.length <= length) return text
	return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}

/** A status in a message. It is significant, unlike other numbers. */
const STATUS = /\b(HTTP(?:\/[\d.]+)?|status(?: code)?)([ :=]+)([1-5]\d\d)\b/gi

/** Replaces the digits of a status by letters, so that later rules do not remove them. */
const spellStatus = (text: string): string =>
	text.replace(STATUS, (_, word: string, between: string, digits: string) => {
		const letters = digits.replace(/\d/g, (digit) => String.fromCharCode(65 + Number(digit)))
		return word.replace(/\/.*/, '') + between + letters
	})

/**
 * Patterns of values, in this order: times and addresses consist of numbers, and numbers come last. HTTP
 * dates contain names of days, which no rule for numbers finds.
 */
const VALUES: readonly (readonly [RegExp, string])[] = [
	[/(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g, '<address>'],
	[/(\w:\/\/[^\s?#]*)(?:[?#]\S*)?/g, '$1'],
	[
		/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w -]{6,12} (?:\d{4} )?\d\d:\d\d:\d\d(?: GMT| UTC| \d{4})?/g,
		'<time>',
	],
	[
		/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?))?)?(?!\w)/g,
		'<time>',
	],
	// An IPv6 address may have no digit, but always has two colons.
	[/\[?(?<![\w:.])(?=[\da-f.]{0,15}:[\da-f.]{0,15}:)[\da-f:.]*[\da-f:](?:%\w+(?::\d+)?)?(?!\w)\]?/gi, '<n>'],
	[/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, '<n>'],
	// Long enough to be a generated key, hyphens included.
	[/(?<![\w-])[-+]?(?=[\w-]{0,40}\d)[\w-]{16,}/g, '<n>'],
	[/(?<!\w)[-+]?[\da-f]{8,}\b/gi, '<n>'],
	[/(?<!\w)[-+]?\w*\d\w*/g, '<n>'],
	// 1.5, 10:30, 10.0.0.1:5432 and a list of ids are one value each.
	[/<n>(?:(?:[.:/+-]|, ?| )<n>)*/g, '<n>'],
]

/** Quoted texts come before the other values, because they may contain anything. */
function withoutValues(text: string): string {
	let rest = withoutQuotes(spellStatus(text))
	for (const [value, replacement] of VALUES) rest = rest.replace(value, replacement)
	return rest
}

const QUOTES = '"\'`'
const WORD = /\w/

const isWord = (character: string | undefined): boolean => character !== undefined && WORD.test(character)

/**
 * Replaces quoted texts by `<text>`. It scans instead of matching a pattern: a pattern would look for the end
 * of every quote that has none, which takes quadratic time.
 */
export function withoutQuotes(text: string): string {
	let result = ''
	let done = 0
	let unclosed = ''
	for (let at = 0; at < text.length; at++) {
		const quote = text.charAt(at)
		// An apostrophe inside a word is no quote. If a quote has no end, no later one of its kind has one.
		if (!QUOTES.includes(quote) || unclosed.includes(quote) || isWord(text[at - 1])) continue
		const end = findEnd(text, at)
		if (end === undefined) unclosed += quote
		else {
			result += `${text.slice(done, at)}<text>`
			done = end + 1
			at = end
		}
	}
	return result + text.slice(done)
}

/** Returns the position of the quote that ends the one at `start`. A backslash escapes the next character. */
function findEnd(text: string, start: number): number | undefined {
	for (let at = start + 1; at < text.length; at++) {
		if (text.charAt(at) === '\\') at++
		else if (text.charAt(at) === text.charAt(start) && !isWord(text[at + 1])) return at
	}
	return undefined
}
