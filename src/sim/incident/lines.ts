/** The lines of a text, one at a time: a list of a million of them would be as large again as the text. */
export function* splitLines(text: string): Generator<string> {
	let from = 0
	while (from < text.length) {
		const end = text.indexOf('\n', from)
		const to = end < 0 ? text.length : end
		yield text.slice(from, to)
		from = to + 1
	}
}
