/**
 * A body that is stored while it is sent. Its end is sent after it has been stored: a client that has received the whole response can rely
 * on it, and a crash in between cuts the response off, which makes the client repeat the request. (A response with a content-length ends with its
 * last byte, so adapters read those completely first.)
 *
 * If the client disconnects, the rest of the body is read and stored nevertheless: the effect has happened, and the client will repeat
 * the request.
 */

export interface CaptureEnd {
	/** The whole body; undefined if it was larger than the limit. */
	onComplete(body: Uint8Array | undefined): Promise<unknown>
	/** The body ended with an error. */
	onError(error: unknown): Promise<unknown>
}

export function captureBody(
	source: ReadableStream<Uint8Array>,
	maxBytes: number,
	{ onComplete, onError }: CaptureEnd,
	waitUntil: (promise: Promise<unknown>) => void = () => {},
): ReadableStream<Uint8Array> {
	const reader = source.getReader()
	let chunks: Uint8Array[] | undefined = []
	let size = 0

	/** Reads one chunk. Returns undefined at the end, when everything has been stored. */
	async function read(): Promise<Uint8Array | undefined> {
		try {
			const { done, value } = await reader.read()
			if (!done) {
				size += value.length
				if (size > maxBytes) chunks = undefined
				chunks?.push(value)
				return value
			}
		} catch (error) {
			await onError(error)
			throw error
		}
		await onComplete(chunks && joined(chunks, size))
		return undefined
	}

	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			const chunk = await read()
			if (chunk) controller.enqueue(chunk)
			else controller.close()
		},
		cancel() {
			const rest = (async () => {
				while (await read());
			})()
			waitUntil(rest.catch(() => {}))
		},
	})
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
	const [only] = chunks
	if (only && chunks.length === 1) return only
	const all = new Uint8Array(size)
	let at = 0
	for (const chunk of chunks) {
		all.set(chunk, at)
		at += chunk.length
	}
	return all
}
