/**
 * What becomes of a body that nobody will read. One that is read to its end gives its connection back; one that is cancelled
 * costs the connection. So a small rest is read, and a large or slow one is cut off: an error page of a hundred megabytes is
 * no reason to download it.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { type HttpResponse, isObservable, MAX_DRAIN_MS, MAX_DRAINED_BYTES } from '../transport/transport.ts'
import { releaseBody } from './attempt-scope.ts'

/** Those that are thrown away already: to do it twice would cut off what is just being read for its connection. */
const discarded = new WeakSet<HttpResponse>()

/** Throws a body away. Never rejects: whatever goes wrong here, nobody waits for it. */
export async function drainBody(response: HttpResponse, runtime: Runtime): Promise<void> {
	if (discarded.has(response)) return
	discarded.add(response)
	if (isObservable(response)) return response.discard()
	if (response.bodyUsed) return
	try {
		await read(response, MAX_DRAINED_BYTES, runtime, MAX_DRAIN_MS)
	} catch {
		// The connection broke, which frees it as well.
	}
}

/** The beginning of a body as text, for an error to carry, as far as it comes within `forMs`. */
export async function readText(response: HttpResponse, runtime: Runtime, forMs: number): Promise<string> {
	const decoder = new TextDecoder()
	let text = ''
	try {
		await read(response, MAX_DRAINED_BYTES, runtime, forMs, (bytes) => {
			text += decoder.decode(bytes, { stream: true })
		})
	} catch {
		// What came of it is better than nothing.
	}
	return text + decoder.decode()
}

async function read(
	response: HttpResponse,
	most: number,
	runtime: Runtime,
	forMs: number,
	take?: (bytes: Uint8Array) => void,
): Promise<void> {
	releaseBody(response)
	const reader = response.body?.getReader()
	if (!reader) return
	const length = Number(response.headers.get('content-length') ?? 0)
	let left = take || length <= most ? most : 0
	const stop = runtime.setTimer(forMs, () => void reader.cancel().catch(() => {}), 'housekeeping')
	try {
		while (left > 0) {
			const { done, value } = await reader.read()
			if (done) return
			take?.(left < value.length ? value.subarray(0, left) : value)
			left -= value.length
		}
		await reader.cancel()
	} finally {
		stop()
	}
}
