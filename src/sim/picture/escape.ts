/**
 * Names come from users' files and may hold anything. XML has characters that no escape can express, so those are replaced
 * rather than escaped; and a terminal obeys control characters, so text for it is cleaned in the same place.
 */

const REPLACEMENT = '\uFFFD'

/** Half a surrogate pair, a control character below the space other than tab and line ends, and the two that are no characters. */
const NOT_IN_XML = /(?![\t\n\r\x7F-\x9F])[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu

/** What a terminal would obey, and what turns the direction of writing. */
const OBEYED = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

const ENTITIES: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
}

/**
 * Text that can stand in XML and HTML, between tags and in attributes.
 *
 * @example
 * escapeXml('a < b & "c"') // 'a &lt; b &amp; &quot;c&quot;'
 */
export function escapeXml(text: string): string {
	return text
		.replace(NOT_IN_XML, REPLACEMENT)
		.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

/** Text on one line that can not move a cursor or change a colour. */
export function plainLine(text: string): string {
	return text.replace(/\s+/gu, ' ').replace(OBEYED, REPLACEMENT)
}

/** The same for text of several lines, which keeps its line ends and its indents. */
export function plainText(text: string): string {
	return text
		.replace(/\r\n/g, '\n')
		.replace(OBEYED, (character) => (/[\n\t]/.test(character) ? character : REPLACEMENT))
}
