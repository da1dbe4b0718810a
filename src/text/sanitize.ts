/**
 * Removes what a terminal would execute. Names, error messages and payloads come from users and remote services; printed as
 * they are, they could move the cursor, change colors or reverse the writing direction.
 */

const REPLACEMENT = '\uFFFD'

/** Control characters, lone surrogates, line and paragraph separators, and characters that change the writing direction. */
const UNSAFE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

/** Returns the text on one line: each run of white space becomes one space, each unsafe character U+FFFD. */
export function sanitizeLine(text: string): string {
	return text.replace(/\s+/gu, ' ').replace(UNSAFE, REPLACEMENT)
}

/** Returns the text with unsafe characters replaced by U+FFFD. Line breaks and tabs stay. */
export function sanitizeText(text: string): string {
	return text
		.replace(/\r\n/g, '\n')
		.replace(UNSAFE, (character) => (/[\n\t]/.test(character) ? character : REPLACEMENT))
}
