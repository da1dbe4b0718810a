/**
 * A body that is stored while it is sent. Its end is sent after it has been stored: a client that has
 * received the whole response can rely on it, and a crash in between cuts the response off, which makes the
 * client repeat the request. (A response with a content-length ends with its last byte, so adapters read
 * those completely first.)
 *
 * If the client disconnects, the rest of the body is read and stored nevertheless: the effect has happened,
 * and the client will repeat the request.
 */
import { BodyCollector } from './body-collector.ts'

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
	const collected = new BodyCollector(maxBytes)
	/** After `cancel` two reads can get the end. */
	let end: Promise<unknown> | undefined

	/** Reads one chunk. Returns undefined at the end, when everything has been stored. */
	async function read(): Promise<Uint8Array | undefined> {
		try {
			const { done, value } = await reader.read()
			if (!done) {
				// A copy: the receiver owns the chunk, and may change or transfer it. None of a body that will not be
				// stored.
				collected.add(collected.isTooLarge ? value : value.slice())
				return value
			}
		} catch (error) {
			end ??= onError(error)
			await end
			throw error
		}
		end ??= onComplete(collected.joined())
		await end
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
