import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ResponseTooLargeError } from 'yaoki/http'
import { answer, type Step } from '../faults/fault-server.ts'
import { FETCHES, failure, setup, textOf } from './setup.ts'

/** A body that never ends. */
const ENDLESS: Step = {
	async play(exchange) {
		await exchange.sendHead(200, {})
		while (!exchange.hasLeft) await exchange.send('x'.repeat(10_000))
	},
}

const read: Readonly<Record<string, (response: Response) => Promise<unknown>>> = {
	text: (response) => response.text(),
	json: (response) => response.json(),
	arrayBuffer: (response) => response.arrayBuffer(),
	blob: (response) => response.blob(),
	async stream(response) {
		const reader = response.body?.getReader()
		while (!(await reader?.read())?.done);
	},
}

describe.each(FETCHES)('maxResponseBytes over %s', (_, fetch) => {
	it.each(Object.entries(read))('ends an endless body that is read by %s', async (_way, readBy) => {
		const { client, server } = await setup(fetch, ENDLESS, { maxResponseBytes: 100_000 })
		const error = await failure(readBy(await client.get(server.url())))
		expect(error).toBeInstanceOf(ResponseTooLargeError)
		expect(error).toMatchObject({
			name: 'ResponseTooLargeError',
			code: 'YAOKI_RESPONSE_TOO_LARGE',
			policy: server.origin,
			maxBytes: 100_000,
		})
		await server.allClosed()
	})

	it('counts the bytes after decompression', async () => {
		const body = gzipSync('x'.repeat(1_000_000))
		// The client closes an idle connection immediately, and not after its usual four seconds.
		const headers = { 'content-encoding': 'gzip', 'keep-alive': 'timeout=1' }
		const bomb = answer({ headers, body })
		const { client, server } = await setup(fetch, bomb, { maxResponseBytes: 100_000 })
		expect(body.length).toBeLessThan(100_000)
		expect(await failure(textOf(client.get(server.url())))).toBeInstanceOf(ResponseTooLargeError)
		await server.allClosed()
	})

	it('does not read a body whose announced length exceeds it', async () => {
		const step = answer({ headers: { 'content-length': '11' }, body: '12345678901' })
		const { client, server } = await setup(fetch, step, { maxResponseBytes: 10 })
		expect(await failure(textOf(client.get(server.url())))).toBeInstanceOf(ResponseTooLargeError)
	})

	it('lets a body of exactly this size pass, unchanged', async () => {
		const step = answer({ headers: { 'x-version': '7' }, body: '1234567890' })
		const { client, server } = await setup(fetch, step, { maxResponseBytes: 10 })
		const response = await client.get(server.url('/a'))
		expect(response).toMatchObject({ status: 200, url: server.url('/a'), redirected: false })
		expect(response.headers.get('x-version')).toBe('7')
		expect([await response.text(), response.bodyUsed]).toEqual(['1234567890', true])
		const second = await client.get(server.url('/a'))
		const reader = second.body?.getReader({ mode: 'byob' })
		expect((await reader?.read(new Uint8Array(20)))?.value?.byteLength).toBe(10)
		await reader?.cancel()
	})

	it('passes a response without a body', async () => {
		const { client, server } = await setup(fetch, answer({ status: 204 }), { maxResponseBytes: 1 })
		expect((await client.get(server.url())).status).toBe(204)
	})

	it('is not retried if the body is read for the cache', async () => {
		const { client, server } = await setup(fetch, ENDLESS, { maxResponseBytes: 100, cache: true })
		expect(await failure(client.get(server.url()))).toBeInstanceOf(ResponseTooLargeError)
		expect(server.requests.length).toBe(1)
	})

	it('frees the connection if the caller cancels before it', async () => {
		const { client, server } = await setup(fetch, ENDLESS, { maxResponseBytes: 100_000 })
		const response = await client.get(server.url())
		await response.body?.cancel()
		await server.allClosed()
	})

	it('is off by default', async () => {
		const { client, server } = await setup(fetch, answer({ body: 'x'.repeat(1_000_000) }))
		expect((await textOf(client.get(server.url()))).length).toBe(1_000_000)
	})
})
