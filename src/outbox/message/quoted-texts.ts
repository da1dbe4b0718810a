/**
 * Replaces quoted texts by `<text>`. It scans instead of matching a pattern: a pattern would look for the end of every quote that has none,
 * which takes quadratic time.
 */

const QUOTES = '"\'`'
const WORD = /\w/

const isWord = (character: string | undefined): boolean => character !== undefined && WORD.test(character)

export function withoutQuotes(text: string): string {
	let result = ''
	let done = 0
	let unclosed = ''
	for (let at = 0; at < text.length; at++) {
		const quote = text.charAt(at)
		// An apostrophe inside a word is not a quote. If a quote has no end, later ones of its kind have none either.
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
