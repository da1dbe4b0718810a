/**
 * Reads the `Idempotency-Key` header. The IETF draft defines it as a structured-field string (`"8e03978e"`),
 * most clients send a bare token (`8e03978e`): both are the same key. Everything is checked here, before any
 * store is asked.
 */

/** The key, or what is wrong with the header. */
export type ParsedKey =
	| { readonly kind: 'key'; readonly key: string }
	| { readonly kind: 'missing' }
	| { readonly kind: 'malformed'; readonly detail: string }

/** Enough for a UUID, a hash or a composed key. */
export const DEFAULT_MAX_KEY_LENGTH = 255

/** A quoted string with escapes and optional parameters, or a token without quotes, commas and semicolons. */
const MEMBER =
	/^(?:"((?:[ !#-[\]-~]|\\["\\])*)"(?:;[\t -+\--~]*|[ \t]*)|([!#-+\--:<-[\]-~]+)[ \t]*)(?:,[ \t]*|$)/

/** `values` are the header lines; proxies and frameworks may have joined several lines with commas. */
export function parseKey(
	values: string | readonly string[] | null | undefined,
	maxLength: number = DEFAULT_MAX_KEY_LENGTH,
): ParsedKey {
	if (values === null || values === undefined) return { kind: 'missing' }
	const text = typeof values === 'string' ? values : values.join(',')
	// Before the pattern runs: a header of megabytes must cost nothing.
	if (text.length > MAX_REPEATS * (maxLength * 2 + 4))
		return malformed(`is longer than ${maxLength} characters`)
	let key: string | undefined
	for (let rest = text.trim(); key === undefined || rest; ) {
		const member = MEMBER.exec(rest)
		if (!member) return malformed('is not a quoted string or a token of visible ASCII characters')
		const found = member[1]?.replace(/\\(.)/g, '$1') ?? member[2] ?? ''
		if (key !== undefined && found !== key) return malformed('contains two different keys')
		if (found === '') return malformed('is empty')
		if (found.length > maxLength) return malformed(`is longer than ${maxLength} characters`)
		key = found
		rest = rest.slice(member[0].length)
	}
	return { kind: 'key', key }
}

/** A client library and a proxy may both add the header; more copies are not expected. */
const MAX_REPEATS = 4

const malformed = (what: string): ParsedKey => ({
	kind: 'malformed',
	detail: `The Idempotency-Key header ${what}.`,
})
