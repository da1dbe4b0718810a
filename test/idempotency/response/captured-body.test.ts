import { describe, expect, test } from 'vitest'
import { captureBody } from '../../../src/idempotency/response/captured-body.ts'

describe('a captured body', () => {
	const streamOf = (...chunks: Uint8Array[]) =>
		new ReadableStream<Uint8Array>({
			pull(controller) {
				const chunk = chunks.shift()
				if (chunk) controller.enqueue(chunk)
				else controller.close()
			},
		})

	test('is stored as it was sent, although the receiver changes its chunks', async () => {
		const stored: (Uint8Array | undefined)[] = []
		const captured = captureBody(streamOf(new Uint8Array([1, 2]), new Uint8Array([3])), 100, {
			onComplete: async (body) => stored.push(body),
			onError: async () => {},
		})
		for await (const chunk of captured) structuredClone(chunk, { transfer: [chunk.buffer] })
		expect(stored).toEqual([new Uint8Array([1, 2, 3])])
	})

	test('is stored once if the client disconnects while its end is read', async () => {
		const ends: string[] = []
		const source = Promise.withResolvers<void>()
		const stream = new ReadableStream<Uint8Array>({
			async pull(controller) {
				await source.promise
				controller.close()
			},
		})
		const completed = Promise.withResolvers<void>()
		const captured = captureBody(
			stream,
			100,
			{
				onComplete: async () => {
					ends.push('complete')
				},
				onError: async () => {
					ends.push('error')
				},
			},
			(promise) => void promise.then(() => completed.resolve()),
		)
		const reader = captured.getReader()
		const reading = reader.read()
		const cancelled = reader.cancel()
		source.resolve()
		await Promise.all([reading, cancelled, completed.promise])
		expect(ends).toEqual(['complete'])
	})

	test('is not stored beyond the limit, and arrives whole', async () => {
		const stored: (Uint8Array | undefined)[] = []
		const captured = captureBody(streamOf(new Uint8Array([1, 2]), new Uint8Array([3])), 2, {
			onComplete: async (body) => stored.push(body),
			onError: async () => {},
		})
		expect(new Uint8Array(await new Response(captured).arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]))
		expect(stored).toEqual([undefined])
	})

	test('ends only after it was stored', async () => {
		const stored = Promise.withResolvers<void>()
		const captured = captureBody(streamOf(new Uint8Array([1])), 100, {
			onComplete: () => stored.promise,
			onError: async () => {},
		})
		const reader = captured.getReader()
		expect(await reader.read()).toEqual({ done: false, value: new Uint8Array([1]) })
		let isEnded = false
		const end = reader.read().finally(() => {
			isEnded = true
		})
		await new Promise((resolve) => setImmediate(resolve))
		expect(isEnded).toBe(false)
		stored.resolve()
		expect((await end).done).toBe(true)
	})

	test('is stored whole after the client has disconnected', async () => {
		const stored = Promise.withResolvers<Uint8Array | undefined>()
		const captured = captureBody(streamOf(new Uint8Array([1]), new Uint8Array([2])), 100, {
			onComplete: async (body) => stored.resolve(body),
			onError: async () => {},
		})
		await captured.cancel()
		expect(await stored.promise).toEqual(new Uint8Array([1, 2]))
	})

	test('reports the error that it ends with once, and passes it on', async () => {
		const errors: unknown[] = []
		const reason = new Error('the source failed')
		const source = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(reason) })
		const captured = captureBody(source, 100, {
			onComplete: async () => {},
			onError: async (error) => errors.push(error),
		})
		await expect(new Response(captured).arrayBuffer()).rejects.toBe(reason)
		expect(errors).toEqual([reason])
	})
})
