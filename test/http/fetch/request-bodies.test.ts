/** The body of a `Request`: kept up to a limit, so that it can be sent again. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { MAX_BUFFERED_BYTES } from '../../../src/http/transport/buffered-body.ts'
import { deferred } from '../deferred.ts'
import { BUSY, FINE, failure, fetching, setup } from './setup.ts'

const bytes = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(120)

/** A Request whose body is a stream of unknown length. */
function streamed(url: string, body: ReadableStream, signal?: AbortSignal): Request {
	return new Request(url, { method: 'PUT', body, duplex: 'half', ...(signal && { signal }) } as RequestInit)
}

/** A stream that sends one chunk and then waits; it records how it ends. */
function waiting() {
	const cancelled = deferred<unknown>()
	const body = new ReadableStream<Uint8Array>({
		start: (controller) => controller.enqueue(bytes(3)),
		cancel: cancelled.resolve,
	})
	return { body, cancelled: cancelled.promise }
}

describe('the body of a Request', () => {
	test.each([
		['text', 'an order'],
		['an empty text', ''],
		['bytes', bytes(1_000)],
		['a form', new URLSearchParams({ name: 'Ada' })],
		['exactly 1 MB', bytes(MAX_BUFFERED_BYTES)],
	])('the body of a Request of %s is sent again, with its type and length', async (_, body) => {
		const { fetch, url, server } = await setup([BUSY, BUSY, FINE])
		const request = new Request(url, { method: 'PUT', body })
		expect((await fetch(request)).status).toBe(200)
		const [first, ...repeats] = server.requests.map((seen) => [
			seen.body,
			seen.headers['content-type'],
			seen.headers['content-length'],
		])
		expect(first?.[2]).toBe(String(Buffer.byteLength(first?.[0] ?? '')))
		expect(repeats).toEqual([first, first])
		expect(request.bodyUsed).toBe(true)
	})

	test('the body of a Request with files is sent again with the same boundary', async () => {
		const form = new FormData()
		form.append('file', new Blob(['tea']), 'order.txt')
		const { fetch, url, server } = await setup([BUSY, FINE])
		await fetch(new Request(url, { method: 'PUT', body: form }))
		const [first, second] = server.requests.map((seen) => [seen.body, seen.headers['content-type']])
		expect(second).toEqual(first)
	})

	test('the body of a Request that is a stream of unknown length is sent again', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		expect((await fetch(streamed(url, new Blob(['one, ', 'two']).stream()))).status).toBe(200)
		expect(server.requests.map(({ body }) => body)).toEqual(['one, two', 'one, two'])
	})

	test('the body of a Request of any length arrives whole, however it is cut, and more than once only up to the limit', async () => {
		const chunk = fc.integer({ min: 0, max: 400_000 })
		await fc.assert(
			fc.asyncProperty(fc.array(chunk, { maxLength: 5 }), async (lengths) => {
				const received: number[] = []
				const { fetch } = fetching({
					maxRetries: 1,
					async fetch(input, init) {
						received.push((await new Request(input, init).arrayBuffer()).byteLength)
						return new Response(null, { status: received.length === 1 ? 503 : 200 })
					},
				})
				const body = new ReadableStream<Uint8Array>({
					start(controller) {
						for (const length of lengths) if (length) controller.enqueue(bytes(length))
						controller.close()
					},
				})
				await fetch(streamed('https://a.test/', body))
				const total = lengths.reduce((sum, length) => sum + length, 0)
				expect(received).toEqual(total > MAX_BUFFERED_BYTES ? [total] : [total, total])
			}),
			{ numRuns: 25 },
		)
	})

	test('reads no more than the limit before a larger body is sent', async () => {
		let pulled = 0
		const body = new ReadableStream<Uint8Array>(
			{
				pull(controller) {
					pulled++
					if (pulled <= 40) controller.enqueue(bytes(100_000))
					else controller.close()
				},
			},
			{ highWaterMark: 0 },
		)
		let atSend = 0
		let size = 0
		const { fetch } = fetching({
			async fetch(input, init) {
				atSend = pulled
				size = (await new Request(input, init).arrayBuffer()).byteLength
				return new Response()
			},
		})
		await fetch(streamed('https://a.test/', body))
		expect(atSend).toBeLessThanOrEqual(13)
		expect(size).toBe(4_000_000)
	})

	test('the body of a Request with maxRetries: 0 is not read first, so a stream is sent chunk by chunk', async () => {
		const { body } = waiting()
		const sent = deferred()
		const { fetch } = fetching({
			maxRetries: 0,
			async fetch(input, init) {
				const reader = new Request(input, init).body?.getReader()
				await reader?.read()
				sent.resolve()
				return new Response()
			},
		})
		const answered = fetch(streamed('https://a.test/', body))
		await sent.promise
		expect((await answered).status).toBe(200)
	})

	test('the body of a Request that is still read when the caller aborts: nothing is sent, and the stream is cancelled', async () => {
		const { fetch, url, server, time } = await setup(FINE)
		const { body, cancelled } = waiting()
		const caller = new AbortController()
		const asked = failure(fetch(streamed(url, body, caller.signal)))
		const reason = new Error('never mind')
		await new Promise(setImmediate)
		caller.abort(reason)
		expect(await asked).toBe(reason)
		// Both copies of the stream have ended with it.
		expect([await cancelled].flat()).toContain(reason)
		expect([server.requests.length, time.pendingTimers]).toEqual([0, 0])
	})

	test('the body of a Request that is still read when the attempt times out is read on for the next attempt', async () => {
		const first = deferred()
		const rest = deferred()
		const { fetch, url, server, time } = await setup(FINE, { timeout: 1_000 })
		const body = new ReadableStream<Uint8Array>(
			{
				async pull(controller) {
					first.resolve()
					await rest.promise
					controller.enqueue(bytes(3))
					controller.close()
				},
			},
			{ highWaterMark: 0 },
		)
		const asked = fetch(streamed(url, body))
		await first.promise
		await time.advance(1_000)
		rest.resolve()
		const response = await asked
		expect(explain(response)?.attempts).toMatchObject([{ errorType: 'TimeoutError' }, { outcome: 'success' }])
		expect(server.requests.map((seen) => seen.body)).toEqual(['xxx'])
	})

	test('the body of a Request that fails while it is read ends the call with its error, and nothing is sent', async () => {
		const { fetch, url, server } = await setup(FINE)
		const broken = new Error('disk failure')
		const body = new ReadableStream({ pull: (controller) => controller.error(broken) })
		expect(await failure(fetch(streamed(url, body)))).toBe(broken)
		expect(server.requests).toEqual([])
	})

	test('is what idempotent and onRequest receive', async () => {
		const seen: unknown[] = []
		const { fetch, url } = await setup([BUSY, FINE], {
			onRequest: ({ body }) => seen.push(new TextDecoder().decode(body as Uint8Array)),
			idempotent: ({ body }) => new TextDecoder().decode(body as Uint8Array) === 'query',
		})
		expect((await fetch(new Request(url, { method: 'POST', body: 'query' }))).status).toBe(200)
		expect(seen).toEqual(['query', 'query'])
	})

	test('the body of a Request that the runtime does not show, as in Firefox, is sent again', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		const request = new Request(url, { method: 'PUT', body: 'an order' })
		const copy = request.clone()
		for (const hidden of [request, copy]) Object.defineProperty(hidden, 'body', { value: undefined })
		Object.defineProperty(request, 'clone', { value: () => copy })
		expect((await fetch(request)).status).toBe(200)
		expect(server.requests.map(({ body }) => body)).toEqual(['an order', 'an order'])
	})
})

test('an abort of the caller does not wait for a body function that hangs, and closes what it returns later', async () => {
	const { fetch, url, server } = await setup(FINE)
	const called = deferred()
	const late = deferred<ReadableStream<Uint8Array<ArrayBuffer>>>()
	const caller = new AbortController()
	const body = () => {
		called.resolve()
		return late.promise
	}
	const asked = failure(fetch(url, { method: 'PUT', body, signal: caller.signal }))
	await called.promise
	caller.abort(new Error('never mind'))
	expect((await asked).message).toBe('never mind')
	const { body: stream, cancelled } = waiting()
	late.resolve(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
	expect(await cancelled).toMatchObject({ message: 'never mind' })
	expect(server.requests).toEqual([])
})
