/** Standard base64, strictly: of one value there is one text, so that a signature cannot be written in a second way. */

export const encodeBase64 = (bytes: Uint8Array): string => btoa(latin1(bytes))

const latin1 = (bytes: Uint8Array): string => {
	let text = ''
	for (const byte of bytes) text += String.fromCharCode(byte)
	return text
}

/** Returns undefined for what `encodeBase64` does not return: white space, missing padding, the URL-safe alphabet. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
	try {
		const decoded = atob(text)
		return btoa(decoded) === text ? Uint8Array.from(decoded, (char) => char.charCodeAt(0)) : undefined
	} catch {
		return undefined
	}
}
