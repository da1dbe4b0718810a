/** Reads the start of a response body for the attempt log. The message is sent, whatever becomes of it. */
import { systemRuntime } from '../../core/runtime/system.ts'
import { truncate } from '../message/stored-error.ts'

/** The message is acked after this time at the latest: a slow or endless body must not delay it noticeably. */
const MAX_READ_MS = 250

/** A character of UTF-8 has at most 4 bytes. */
const MAX_BYTES_PER_CHAR = 4

/** Returns at most `maxChars` characters, or fewer if they do not arrive in time. Ends the body. Never rejects. */
export async function readExcerpt(
	body: ReadableStream<Uint8Array> | null,
	maxChars: number,
	signal: AbortSignal,
): Promise<string | undefined> {
	if (body === null) return undefined
	let text = ''
	let reader: ReadableStreamDefaultReader<Uint8Array>
	try {
		reader = body.getReader()
	} catch {
		// A `fetch` of the user returned a response whose body is being read.
		return undefined
	}
	// Ends a read that waits, and frees the connection.
	const end = (): void => void reader.cancel().catch(() => {})
	const cancelTimer = systemRuntime.setTimer(MAX_READ_MS, end)
	signal.addEventListener('abort', end)
	try {
		const decoder = new TextDecoder()
		while (text.length < maxChars && !signal.aborted) {
			const { done, value } = await reader.read()
			if (done) break
			text += decoder.decode(value.subarray(0, MAX_BYTES_PER_CHAR * maxChars), { stream: true })
		}
	} catch {
		// What has arrived is enough.
	} finally {
		cancelTimer()
		signal.removeEventListener('abort', end)
		end()
	}
	return truncate(text, maxChars)
}
