/**
 * A form as the bytes that go over the wire. undici takes only forms of its own class, and of those some with a file in
 * them are never sent. A blob of blobs has a length, can be sent again after a redirect, and leaves the files where they
 * are until they are read.
 */
import { randomUuid } from './random-uuid.ts'

export function isForm(body: unknown): body is FormData {
	// By its tag, for there is one class in the platform and another in undici.
	return Object.prototype.toString.call(body) === '[object FormData]'
}

/** The blob's type is the content type, with the boundary. Names are in the case of `fetch`: some servers know no other. */
export function formBlob(form: FormData): Blob {
	// Nobody may guess it, or the content of a file could pass for another field. A blob's type is in lower case.
	const boundary = `yaoki-${randomUuid()}`
	const parts: BlobPart[] = []
	for (const [name, value] of form.entries()) {
		const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(withLineEnds(name))}"`
		if (typeof value === 'string') parts.push(`${head}\r\n\r\n${withLineEnds(value)}\r\n`)
		else {
			const type = value.type || 'application/octet-stream'
			parts.push(`${head}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, value, '\r\n')
		}
	}
	parts.push(`--${boundary}--\r\n`)
	return new Blob(parts, { type: `multipart/form-data; boundary=${boundary}` })
}

const withLineEnds = (text: string): string => text.replace(/\r?\n|\r/g, '\r\n')

const escaped = (text: string): string =>
	text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')
