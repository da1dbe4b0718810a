/**
 * Removes what a terminal would execute. Names, error messages and payloads come from users and remote
 * services; printed as they are, they could move the cursor, change colors or reverse the writing direction.
 */

const REPLACEMENT = '\uFFFD'

/** Control characters, lone surrogates, line separators, and what changes the writing direction. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

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

/** Control, format and unpaired characters. `JSON.stringify` escapes only some of them. */
const NOT_PRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** Returns the JSON with escapes for all that a terminal acts on, except line breaks between values. */
export const escapeJson = (json: string): string =>
	json.replace(NOT_PRINTABLE, (character) => (character === '\n' ? character : escapeUnits(character)))

const escapeUnits = (text: string): string =>
	Array.from(
		{ length: text.length },
		(_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`,
	).join('')
