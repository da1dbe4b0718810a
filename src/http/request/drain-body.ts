/**
 * Drains bodies that the caller will not read. A body that is read to its end frees its connection for reuse;
 * a cancelled one closes it. So a small rest is read, and a large or slow one is cancelled: an error page of
 * a hundred megabytes is not downloaded.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { type HttpResponse, isObservable, MAX_DRAIN_MS, MAX_DRAINED_BYTES } from '../transport/response.ts'
import { attemptBodyOf } from './attempt-body.ts'

/** Responses that are being drained: a second call would cancel the first. */
const drained = new WeakSet<HttpResponse>()

/** Drains or cancels a body. Never rejects. */
export async function drainBody(response: HttpResponse, runtime: Runtime): Promise<void> {
	if (drained.has(response)) return
	drained.add(response)
	if (isObservable(response)) return response.drain()
	if (response.bodyUsed) return
	try {
		await read(response, runtime, MAX_DRAIN_MS)
	} catch {
		// A broken connection is freed too.
	}
}

/** Returns the beginning of a body as text: at most 64 kB, and what arrives within `timeoutMs`. */
export async function readText(
	response: HttpResponse,
	runtime: Runtime,
	timeoutMs: number = MAX_DRAIN_MS,
): Promise<string> {
	const decoder = new TextDecoder()
	let text = ''
	try {
		await read(response, runtime, timeoutMs, (bytes) => {
			text += decoder.decode(bytes, { stream: true })
		})
	} catch {
		// A partial text is better than none.
	}
	return text + decoder.decode()
}

async function read(
	response: HttpResponse,
	runtime: Runtime,
	timeoutMs: number,
	onChunk?: (bytes: Uint8Array) => void,
): Promise<void> {
	// The timer below replaces the timeout of the attempt.
	const body = attemptBodyOf(response)
	body?.onHandOver()
	const reader = response.body?.getReader()
	if (!reader) return
	const length = Number(response.headers.get('content-length') ?? 0)
	let left = onChunk || length <= MAX_DRAINED_BYTES ? MAX_DRAINED_BYTES : 0
	const stop = runtime.setTimer(timeoutMs, () => void reader.cancel().catch(() => {}), 'housekeeping')
	try {
		while (left > 0) {
			const { done, value } = await reader.read()
			if (done) return
			onChunk?.(left < value.length ? value.subarray(0, left) : value)
			left -= value.length
		}
		await reader.cancel()
	} finally {
		stop()
		body?.onEnd()
	}
}
