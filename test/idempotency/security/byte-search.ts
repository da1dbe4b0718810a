/** Finds texts in the bytes of a database, also in the encodings that a column, a driver or a log may have. */

/** The bytes of a text, by encoding. Base64 depends on where in a longer text it begins, so there are three of each. */
function encodings(text: string): Readonly<Record<string, Buffer>> {
	const hex = Buffer.from(text).toString('hex')
	const found: Record<string, Buffer> = {
		'UTF-8': Buffer.from(text),
		'UTF-16': Buffer.from(text, 'utf16le'),
		hex: Buffer.from(hex),
		HEX: Buffer.from(hex.toUpperCase()),
	}
	for (const encoding of ['base64', 'base64url'] as const)
		for (const before of [0, 1, 2])
			found[`${encoding} after ${before} bytes`] = Buffer.from(base64Within(text, before, encoding))
	return found
}

/** The characters that depend on the text only, and not on what is before and after it. */
function base64Within(text: string, bytesBefore: number, encoding: 'base64' | 'base64url'): string {
	const bytes = Buffer.from(`${'\0'.repeat(bytesBefore)}${text}`)
	const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString(encoding)
	return bytesBefore === 0 ? whole : whole.slice(bytesBefore + 1)
}

/** Returns the encodings in which the bytes contain a text. */
export const encodingsIn = (bytes: Buffer, text: string): string[] =>
	Object.entries(encodings(text))
		.filter(([, encoded]) => bytes.includes(encoded))
		.map(([name]) => name)
