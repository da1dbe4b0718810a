import { afterEach, describe, expect, test, vi } from 'vitest'
import {
	readWebBody,
	readWebOptions,
	webExchange,
} from '../../../../src/idempotency/adapters/web/exchange.ts'

const post = (body: BodyInit, headers = {}) =>
	new Request('https://shop.example.com/charges?x=1', {
		method: 'POST',
		body,
		headers,
		duplex: 'half',
	} as RequestInit)

/** A body without a content-length, and whether it was cancelled. */
function streamed(...chunks: string[]) {
	let isCancelled = false
	const body = new ReadableStream<Uint8Array>({
		pull(controller) {
			const chunk = chunks.shift()
			if (chunk === undefined) controller.close()
			else controller.enqueue(new TextEncoder().encode(chunk))
		},
		cancel() {
			isCancelled = true
		},
	})
	return { request: post(body), isCancelled: () => isCancelled }
}

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

describe('the body of a web request', () => {
	test('is read from a copy, so that the handler reads it too', async () => {
		const { request } = streamed('hel', 'lo')
		expect(text(await readWebBody(request, 5))).toBe('hello')
		expect(await request.text()).toBe('hello')
	})

	test('is undefined for a request without one', async () => {
		expect(await readWebBody(new Request('https://shop.example.com/', { method: 'POST' }), 5)).toBeUndefined()
	})

	test('is rejected by its content-length before it is read', async () => {
		const request = post('hello', { 'content-length': '5' })
		await expect(readWebBody(request, 4)).rejects.toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_REQUEST_TOO_LARGE',
		})
		expect(request.bodyUsed).toBe(false)
	})

	test('is cancelled when it exceeds the limit', async () => {
		const { request, isCancelled } = streamed('hel', 'lo', ...Array<string>(100).fill('more'))
		await expect(readWebBody(request, 4)).rejects.toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_REQUEST_TOO_LARGE',
		})
		await vi.waitFor(() => expect(isCancelled()).toBe(true))
	})

	test('is an error if it was read before', async () => {
		const request = post('hello')
		await request.text()
		await expect(readWebBody(request, 5)).rejects.toMatchObject({ code: 'YAOKI_IDEMPOTENCY_BODY_CONSUMED' })
	})
})

describe('the exchange of a web request', () => {
	const exchangeOf = (waitUntil?: (promise: Promise<unknown>) => void) => {
		const request = post('hello', { 'X-User': 'ada' })
		const raw = { name: 'the context of a framework' }
		return webExchange(request, raw, waitUntil, 'handler(request, env, ctx)', async () => undefined)
	}

	afterEach(() => vi.unstubAllGlobals())

	test('describes the request, with headers in any case', () => {
		const { method, url, headers, raw } = exchangeOf()
		expect([method, url]).toEqual(['POST', 'https://shop.example.com/charges?x=1'])
		expect([headers.get('x-USER'), headers.get('x-missing')]).toEqual(['ada', undefined])
		expect(raw).toEqual({ name: 'the context of a framework' })
	})

	test('needs no waitUntil where promises outlive their request', () => {
		expect(() => exchangeOf().checkPlatform?.()).not.toThrow()
	})

	test('needs a waitUntil in Workers, and the error shows how to pass ctx', () => {
		vi.stubGlobal('WebSocketPair', class {})
		expect(() => exchangeOf().checkPlatform?.()).toThrow('handler(request, env, ctx)')
		expect(() => exchangeOf(() => {}).checkPlatform?.()).not.toThrow()
	})
})

describe('the options of a web adapter', () => {
	test('have no defaults', () => {
		expect(readWebOptions({}, 'fetchIdempotency')).toEqual({})
	})

	test('must have a function as waitUntil', () => {
		const options = { waitUntil: 'ctx' as never }
		expect(() => readWebOptions(options, 'fetchIdempotency')).toThrow('waitUntil')
	})

	test('are rejected with the nearest name if they are unknown', () => {
		const options = { waituntil: () => {} } as object
		expect(() => readWebOptions(options, 'honoIdempotency')).toThrow(
			expect.objectContaining({ message: expect.stringMatching(/honoIdempotency.*waitUntil/) }),
		)
	})
})
