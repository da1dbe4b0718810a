/**
 * The body of a `Request`, which `fetch` sends only once. ky and many SDKs pass their requests in this form,
 * so a small body is read into memory before the first attempt. What is read is a copy: of a larger body the
 * original is sent, once, with what `fetch` knows of it, such as its length. Recording the body while it is
 * sent was rejected, because a stream is sent without a length.
 */

/** Larger bodies of a `Request` are not retried. */
export const MAX_BUFFERED_BYTES = 1_000_000

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>

export class BufferedBody {
	/** False after the body has been read into memory. */
	isSingleUse = true
	readonly #isKept: boolean
	readonly #request: Request
	#reader: Reader | undefined
	#bytes: Promise<Uint8Array<ArrayBuffer> | undefined> | undefined

	/** The body is read only if `isKept`. */
	constructor(request: Request, isKept: boolean) {
		this.#request = request
		this.#isKept = isKept
	}

	/** Returns the body; undefined if the Request itself must be sent. Reads it at the first call. */
	readonly read = (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
		this.#bytes ??= this.#read()
		return this.#bytes
	}

	/** Ends the body of a Request that is not sent. */
	cancel(reason: unknown): void {
		for (const stream of [this.#reader, this.#request.body]) stream?.cancel(reason).catch(() => {})
	}

	async #read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
		if (!this.#isKept) return undefined
		const copy = this.#request.clone()
		this.#reader = copy.body?.getReader()
		// Firefox does not show the body of a Request.
		const bytes = this.#reader
			? await readUpTo(this.#reader, MAX_BUFFERED_BYTES)
			: new Uint8Array(await copy.arrayBuffer())
		this.isSingleUse = !bytes
		// The stream would keep what the copy has read.
		if (bytes) this.#request.body?.cancel().catch(() => {})
		return bytes
	}
}

/** Returns the bytes of a stream; undefined if there are more than `maxBytes`. */
async function readUpTo(reader: Reader, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
	const chunks: Uint8Array<ArrayBuffer>[] = []
	for (let left = maxBytes; left >= 0; ) {
		const { done, value } = await reader.read()
		if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer())
		left -= value.byteLength
		chunks.push(value)
	}
	reader.cancel().catch(() => {})
	return undefined
}
