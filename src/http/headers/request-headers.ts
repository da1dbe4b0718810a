/** Headers of a request, in any of the forms that `fetch` takes, without making a `Headers` of them where that can be spared. */

export type HeaderSource = RequestInit['headers']

const isPlain = (headers: HeaderSource): headers is Record<string, string> =>
	typeof headers === 'object' && headers !== null && !(Symbol.iterator in headers)

/** A header that was left undefined is none, though `fetch` would send it as that word. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** As they are now: a caller may use the same object for the next request while this one waits. */
export function copyHeaders(headers: HeaderSource): HeaderSource {
	if (!headers) return headers
	if (!isPlain(headers)) return new Headers(headers)
	const own: Record<string, string> = {}
	for (const name of Object.keys(headers)) {
		const value = headers[name]
		if (value !== undefined && isGiven(value)) own[name] = value
	}
	return own
}

/** A header by its lower-case name. */
export function requestHeader(headers: HeaderSource, name: string): string | null {
	if (!headers) return null
	if (!isPlain(headers)) return new Headers(headers).get(name)
	for (const own of Object.keys(headers))
		if (own.toLowerCase() === name && isGiven(headers[own])) return String(headers[own]).trim()
	return null
}

/** Adds to headers what they do not have yet: what the caller wrote is the caller's. */
export function addHeaders(headers: HeaderSource, extra: Record<string, string>): HeaderSource {
	if (!headers) return extra
	if (isPlain(headers)) {
		const own = { ...headers }
		const names = Object.keys(headers).map((name) => name.toLowerCase())
		for (const name of Object.keys(extra)) {
			const value = extra[name]
			if (value !== undefined && !names.includes(name)) own[name] = value
		}
		return own
	}
	const own = new Headers(headers)
	for (const name of Object.keys(extra)) {
		const value = extra[name]
		if (value !== undefined && !own.has(name)) own.set(name, value)
	}
	return own
}
