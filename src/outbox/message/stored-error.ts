/**
 * What is written down about a failure: short, safe for any database, and with a fingerprint by which ten thousand dead letters become
 * three groups. The fingerprint is over what stays the same when the same thing fails for another message. Whatever looks like
 * a value is taken out first: a group too wide is split by reading two of its messages, while a thousand groups of one are no groups at all.
 * What a receiver wrote in its answer is told to the reader, and left out of the fingerprint for the same reason.
 */
import { createHash } from 'node:crypto'
import { safeGet } from '../../core/classify/safe-get.ts'
import type { StoredError } from './message.ts'

const LONGEST_MESSAGE = 500
const LONGEST_TYPE = 100
const LONGEST_BODY = 200
/** How much of a text is looked at: some errors quote the whole body that they did not like. */
const LONGEST_LOOK = 2_000
/** How much of what is left without values goes into the fingerprint: a tail that was cut at another place must not matter. */
const LONGEST_SHAPE = 300

/** Notes down anything that was thrown. Never throws itself, however hostile that is. */
export function toStoredError(error: unknown): StoredError {
	const type = typeOf(error)
	const status = statusOf(error)
	const text = textOf(error, status)
	const kind = [type, status ?? '', codeOf(error)]
	const shape = cut(withoutValues(text), LONGEST_SHAPE)
	const fingerprint = createHash('sha256')
		.update([...kind, shape].join('\n'))
		.digest('hex')
		.slice(0, 12)
	const body = status === undefined ? '' : bodyOf(error)
	const told = body === '' || text.includes(body) ? text : `${text}: ${body}`
	return { type, message: cut(told, LONGEST_MESSAGE), fingerprint }
}

/** An error's name; of what has none, its kind. */
function typeOf(error: unknown): string {
	const name = isObject(error) ? firstLine(safeGet(error, 'name')) : ''
	return name === '' ? (error === null ? 'null' : typeof error) : cut(name, LONGEST_TYPE)
}

function textOf(error: unknown, status: number | undefined): string {
	if (error === undefined || error === null) return `${error} was thrown`
	if (!isObject(error)) return firstLine(String(error))
	const own = firstLine(safeGet(error, 'message'))
	// "fetch failed" says nothing: what failed is in the cause, and an AggregateError may have no message at all.
	const cause = safeGet(error, 'cause') ?? safeGet(safeGet(error, 'errors'), '0')
	const inner = codeOf(cause) || firstLine(typeof cause === 'string' ? cause : safeGet(cause, 'message'))
	const text = [own, own.includes(inner) ? '' : inner].filter((part) => part !== '').join(': ')
	if (status === undefined || text.includes(`${status}`)) return text || codeOf(error)
	return text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`
}

/** The status that an HTTP error carries. It is kept apart from other numbers, for a 404 and a 503 are two failures. */
function statusOf(error: unknown): number | undefined {
	const places = [
		safeGet(error, 'statusCode'),
		safeGet(error, 'status'),
		safeGet(safeGet(error, 'response'), 'status'),
		safeGet(safeGet(error, 'response'), 'statusCode'),
	]
	return places.find(isStatus)
}

const isStatus = (value: unknown): value is number =>
	typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599

/** `ECONNREFUSED`, `23505`: what a machine calls the failure. Anything longer or freer may hold an id. */
function codeOf(error: unknown): string {
	const code = safeGet(error, 'code')
	return typeof code === 'string' && /^(?:[A-Z][A-Z_]{1,49}|[A-Z][A-Z0-9_]{1,19}|[0-9A-Z]{5})$/.test(code)
		? code
		: ''
}

/** The first words of an HTTP answer: "no such product" is what a person needs, and a status alone never says it. */
function bodyOf(error: unknown): string {
	const body = safeGet(error, 'body') ?? ''
	try {
		const text = typeof body === 'string' ? body : jsonText(body, LONGEST_BODY)
		return cut(firstLine(text, /[\p{L}\p{N}]/u), LONGEST_BODY)
	} catch {
		return ''
	}
}

const DEEPEST_JSON = 4

/**
 * The beginning of what JSON would write, at most a little more than `room`: a body may have megabytes, and of those nobody reads more. Only
 * plain data is looked at. A stream, a getter or a `toJSON` is somebody's code, which may read the body away from who is to read it, or not end.
 */
function jsonText(value: unknown, room: number, depth = 0): string {
	if (typeof value === 'string') return JSON.stringify(value.slice(0, room))
	if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`
	// Never nothing: whatever is looked at takes some of the room, so that a million of these end as soon as words do.
	if (!isPlain(value) || depth === DEEPEST_JSON) return '…'
	let text = ''
	for (const [label, held] of membersOf(value)) {
		if (text.length >= room) break
		const comma = text === '' ? '' : ','
		text += comma + label.slice(0, room) + jsonText(held, room - text.length, depth + 1)
	}
	return Array.isArray(value) ? `[${text}]` : `{${text}}`
}

/** One after the other, for `for in` would first write down the name of every place in a list. */
function* membersOf(value: object): Generator<readonly [label: string, held: unknown]> {
	const held = (name: PropertyKey): unknown => Object.getOwnPropertyDescriptor(value, name)?.value
	if (Array.isArray(value)) for (let at = 0; at < value.length; at += 1) yield ['', held(at)]
	else for (const name in value) yield [`${JSON.stringify(name)}:`, held(name)]
}

function isPlain(value: unknown): value is object {
	if (typeof value !== 'object' || value === null) return false
	const kind: unknown = Object.getPrototypeOf(value)
	return kind === null || kind === Object.prototype || Array.isArray(value)
}

const isObject = (value: unknown): boolean =>
	(typeof value === 'object' && value !== null) || typeof value === 'function'

/** The first line that has something in it, as every database takes it. Of JSON over many lines the first is but a brace. */
function firstLine(text: unknown, something = /[^\s\p{Cc}]/u): string {
	if (typeof text !== 'string') return ''
	const line = text
		.slice(0, LONGEST_LOOK)
		.split(/[\r\n\u2028\u2029]/)
		.find((candidate) => something.test(candidate))
	// NUL is what PostgreSQL refuses; the other controls would dance in a terminal.
	return (line ?? '')
		.replace(/\p{Cc}+/gu, ' ')
		.replace(/\p{Surrogate}/gu, '\uFFFD')
		.trim()
}

/** No longer than that, and never half of a pair. */
function cut(text: string, length: number): string {
	if (text.length <= length) return text
	return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}

/** Digits that mean something are spelt in letters, where the rules after that one do not see them. */
const spelt = (digits: string): string =>
	digits.replace(/\d/g, (digit) => String.fromCharCode(65 + Number(digit)))

/**
 * In this order: what is quoted may hold anything, times and addresses are made of numbers, and numbers come last. Dates of HTTP
 * have names of days in them, which no rule about numbers would find.
 */
const VALUES: readonly (readonly [RegExp, string | ((found: string, ...parts: string[]) => string)])[] = [
	[
		/\b(HTTP(?:\/[\d.]+)?|status(?: code)?)([ :=]+)([1-5]\d\d)\b/gi,
		(_, word = '', between = '', digits = '') => `${word.replace(/\/.*/, '')}${between}${spelt(digits)}`,
	],
	// An apostrophe inside of a word opens and closes nothing.
	[/(?<!\w)(["'`])(?:\\.|[^\\])*?\1(?!\w)/g, '<text>'],
	[/(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g, '<address>'],
	[/(\w:\/\/[^\s?#]*)[?#]\S*/g, '$1'],
	[
		/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w -]{6,12} (?:\d{4} )?\d\d:\d\d:\d\d(?: GMT| UTC| \d{4})?/g,
		'<time>',
	],
	[
		/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?))?)?(?!\w)/g,
		'<time>',
	],
	// An address of version 6 may be without a digit; two colons it always has.
	[/\[?(?<![\w:.])(?=[\da-f.]{0,15}:[\da-f.]{0,15}:)[\da-f:.]*[\da-f:](?:%\w+(?::\d+)?)?(?!\w)\]?/gi, '<n>'],
	[/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, '<n>'],
	// Long enough to be a key that somebody made up, hyphens included.
	[/(?<![\w-])[-+]?(?=[\w-]{0,40}\d)[\w-]{16,}/g, '<n>'],
	[/(?<!\w)[-+]?[\da-f]{8,}\b/gi, '<n>'],
	[/(?<!\w)[-+]?\w*\d\w*/g, '<n>'],
	// 1.5, 10:30, 10.0.0.1:5432 and a list of ids are one value, however many numbers it has.
	[/<n>(?:(?:[.:/+-]|, ?| )<n>)*/g, '<n>'],
]

function withoutValues(text: string): string {
	let rest = text
	for (const [value, instead] of VALUES)
		rest = typeof instead === 'string' ? rest.replace(value, instead) : rest.replace(value, instead)
	return rest
}
