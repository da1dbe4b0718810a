/** Longer label values are truncated: each is stored and sent with every scrape. */
const MAX_LENGTH = 200

/** Control characters, unpaired surrogates, line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Returns a value that is safe in every output: on one line, well-formed and at most 200 characters long. */
export function toLabelValue(value: string): string {
	const text = value.length > MAX_LENGTH ? value.slice(0, MAX_LENGTH) : value
	return text.replace(UNSAFE, '\uFFFD')
}
