import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { PROGRESS_INTERVAL_MS } from '../../../src/http/request/limit-body.ts'
import { answer } from '../faults/fault-server.ts'
import { failure, setup, textOf } from './setup.ts'

const WATCHED = { downloadProgress: true }

const progressIn = (events: readonly YaokiEvent[]) =>
	events.filter((event) => event.type === 'download_progress')

/** A client on a virtual clock whose `fetch` returns a body of these chunks, each after its time. */
function streaming(
	chunks: readonly { readonly bytes: number; readonly ms: number }[],
	headers: HeadersInit = {},
) {
	const clock = virtualRuntime()
	const events: YaokiEvent[] = []
	const client = new ResilientHttpClient({
		...WATCHED,
		runtime: clock,
		timeout: Infinity,
		onEvent: (event) => events.push(event),
		async fetch() {
			const left = [...chunks]
			const body = new ReadableStream<Uint8Array>(
				{
					async pull(controller) {
						const next = left.shift()
						if (!next) return controller.close()
						await clock.advance(next.ms)
						controller.enqueue(new Uint8Array(next.bytes))
					},
				},
				{ highWaterMark: 0 },
			)
			return new Response(body, { headers })
		},
	})
	return { client, events }
}

describe('downloadProgress', () => {
	it('emits the bytes so far and the total, and the end', async () => {
		const chunks = [1, 2, 3].map(() => ({ bytes: 1_000, ms: 150 }))
		const { client, events } = streaming(chunks, { 'content-length': '3000' })
		await (await client.get('https://a.test/file')).arrayBuffer()
		expect(progressIn(events)).toMatchObject([
			{ receivedBytes: 1_000, totalBytes: 3_000, key: 'https://a.test', method: 'GET', attempt: 1 },
			{ receivedBytes: 2_000, totalBytes: 3_000 },
			{ receivedBytes: 3_000, totalBytes: 3_000 },
			{ receivedBytes: 3_000, totalBytes: 3_000 },
		])
		const ids = new Set(events.map(({ callId }) => callId))
		expect(ids.size).toBe(1)
	})

	it('emits at most one event per interval, grows, and ends with the whole size', async () => {
		const chunk = fc.record({
			bytes: fc.integer({ min: 1, max: 5_000 }),
			ms: fc.integer({ min: 0, max: 300 }),
		})
		await fc.assert(
			fc.asyncProperty(fc.array(chunk, { maxLength: 20 }), async (chunks) => {
				const { client, events } = streaming(chunks)
				const body = await (await client.get('https://a.test/')).arrayBuffer()
				const progress = progressIn(events)
				const last = progress.pop()
				expect(last?.receivedBytes).toBe(body.byteLength)
				expect(last).not.toHaveProperty('totalBytes')
				const all = [...progress, last]
				for (const [i, event] of progress.entries()) {
					expect(all[i + 1]?.receivedBytes).toBeGreaterThanOrEqual(event.receivedBytes)
					const next = progress[i + 1]
					if (next) expect(next.timestamp - event.timestamp).toBeGreaterThanOrEqual(PROGRESS_INTERVAL_MS)
				}
			}),
			{ numRuns: 50 },
		)
	})

	it('emits nothing without the option', async () => {
		const { client, server, events } = await setup(undefined, answer({ body: 'fine' }))
		await textOf(client.get(server.url()))
		expect(progressIn(events)).toEqual([])
	})

	it('does not touch the body without a listener', async () => {
		const body = new Response('fine').body
		const client = new ResilientHttpClient({ ...WATCHED, fetch: async () => new Response(body) })
		const response = await client.get('https://a.test/')
		expect(response.body).toBe(body)
	})

	it('does not give the length of a compressed body as the total', async () => {
		const { client, server, events } = await setup(
			undefined,
			answer({ body: gzipSync('x'.repeat(10_000)), headers: { 'content-encoding': 'gzip' } }),
			WATCHED,
		)
		expect(await textOf(client.get(server.url()))).toHaveLength(10_000)
		const last = progressIn(events).at(-1)
		expect(last?.receivedBytes).toBe(10_000)
		expect(last).not.toHaveProperty('totalBytes')
	})

	it('emits nothing for the bodies of failed attempts, and no end for a body that is too large', async () => {
		const { client, server, events } = await setup(
			undefined,
			[answer({ status: 503, body: 'busy' }), answer({ body: 'x'.repeat(100) })],
			{ ...WATCHED, maxResponseBytes: 50 },
		)
		expect(await failure(textOf(client.get(server.url())))).toMatchObject({ maxBytes: 50 })
		expect(progressIn(events)).toEqual([])
	})

	it('must be true or false', () => {
		const options: object = { downloadProgress: 100 }
		expect(() => new ResilientHttpClient(options)).toThrow(
			expect.objectContaining({ optionPath: 'downloadProgress' }),
		)
	})
})
