/**
 * Removes passwords from texts that quote what a user typed: a URL in the wrong place is an unexpected
 * argument, and its error must not print the password. It may remove more than the password, never less.
 */

/** The value of a quoted keyword may contain spaces, so everything after it is removed. */
const KEYWORD = /(password|passwd|secret|token)\s*=\s*(?:['"][\s\S]*|\S*)/gi

/** Returns the text with passwords, URL parameters and the value of `password=...` replaced by `***`. */
export const maskSecrets = (text: string): string => text.replace(/\S+/g, maskUrl).replace(KEYWORD, '$1=***')

/** A password may contain any character, even an @. Parameters may be passwords under any name. */
function maskUrl(word: string): string {
	const start = word.indexOf('://')
	const colon = word.indexOf(':', start < 0 ? 0 : start + 3)
	const end = word.lastIndexOf('@')
	const masked = colon < 0 || end < colon ? word : `${word.slice(0, colon)}:***${word.slice(end)}`
	const query = masked.indexOf('?', masked.indexOf(':'))
	return masked.includes(':') && query >= 0 ? `${masked.slice(0, query)}?***` : masked
}
