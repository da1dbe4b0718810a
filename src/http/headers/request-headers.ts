/** Reads and extends request headers. Plain objects stay plain: creating a `Headers` object is expensive. */

import { isObject } from '../../core/options/schema.ts'

export type HeaderSource = RequestInit['headers']

/** What `Headers` accepts as a name. */
export const HEADER_NAME: RegExp = /^[\w!#$%&'*+.^`|~-]+$/

const isPlain = (headers: HeaderSource): headers is Record<string, string> =>
	isObject(headers) && !(Symbol.iterator in headers)

/** `fetch` would send the words "undefined" and "null"; such headers are treated as absent. */
export const isGiven = (value: unknown): value is string => value !== undefined && value !== null

/** Returns a copy, because the caller may change the object while the request waits. */
export function copyHeaders(headers: HeaderSource): HeaderSource {
	if (!headers) return headers
	if (!isPlain(headers)) return new Headers(headers)
	const copy: Record<string, string> = {}
	for (const name of Object.keys(headers)) {
		const value = headers[name]
		if (isGiven(value)) copy[name] = value
	}
	return copy
}

/** Returns a header by its lower-case name, or null. */
export function requestHeader(headers: HeaderSource, name: string): string | null {
	if (!headers) return null
	if (!isPlain(headers)) return new Headers(headers).get(name)
	for (const given of Object.keys(headers))
		if (given.toLowerCase() === name && isGiven(headers[given])) return String(headers[given]).trim()
	return null
}

/** Returns true if the headers name this one, in lower case, also if its value is undefined. */
export const namesHeader = (headers: HeaderSource, name: string): boolean =>
	isPlain(headers)
		? Object.keys(headers).some((given) => given.toLowerCase() === name)
		: new Headers(headers).has(name)

/** Returns the headers with the missing ones of `extra`. Headers that the caller set are not replaced. */
export function addHeaders(headers: HeaderSource, extra: Record<string, string>): HeaderSource {
	if (!headers) return extra
	if (isPlain(headers)) {
		const merged = { ...headers }
		const names = Object.keys(headers).map((name) => name.toLowerCase())
		for (const [name, value] of Object.entries(extra)) if (!names.includes(name)) merged[name] = value
		return merged
	}
	const merged = new Headers(headers)
	for (const [name, value] of Object.entries(extra)) if (!merged.has(name)) merged.set(name, value)
	return merged
}

/**
 * Request headers that identify a user or a program. They are not sent to another origin after a redirect,
 * and they separate cached responses. `fetch` knows only the first three; services use the others for API
 * keys and tokens.
 */
export const CREDENTIAL_HEADERS: readonly string[] = [
	'authorization',
	'cookie',
	'proxy-authorization',
	'x-api-key',
	'api-key',
	'apikey',
	'x-auth-token',
	'x-goog-api-key',
	'x-amz-security-token',
	'ocp-apim-subscription-key',
	'private-token',
	'x-vault-token',
]

/** The default header of idempotency keys. */
export const IDEMPOTENCY_KEY = 'idempotency-key'

/** Returns true for a header, in lower case, that must not reach another origin. */
export const isOriginBound = (name: string, idempotencyHeader: string = IDEMPOTENCY_KEY): boolean =>
	name === IDEMPOTENCY_KEY || name === idempotencyHeader || CREDENTIAL_HEADERS.includes(name)
