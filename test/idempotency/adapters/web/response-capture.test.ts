import { describe, expect, test } from 'vitest'
import {
	captureWebResponse,
	toWebResponse,
} from '../../../../src/idempotency/adapters/web/response-capture.ts'
import { idempotency, memoryIdempotencyStore } from '../../../../src/idempotency/index.ts'

const IDENTITY = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
const DESCRIBED = { method: 'POST', path: '/charges' }

/** A claim, and what is stored for its key. */
async function setup(options = {}) {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada', ...options })
	const begun = await engine.begin(IDENTITY, 'f')
	if (begun.kind !== 'run') throw new Error('expected a claim')
	const { claim } = begun
	const capture = (run: () => Response | Promise<Response>) =>
		captureWebResponse(engine, claim, DESCRIBED, run)
	return { engine, claim, capture, stored: () => engine.find(IDENTITY) }
}

describe('a captured response', () => {
	test('without a body is stored before it is returned', async () => {
		const { capture, stored } = await setup()
		const response = new Response(null, { status: 204 })
		expect(await capture(() => response)).toBe(response)
		expect(await stored()).toMatchObject({ state: 'completed', status: 204, bodyBytes: 0 })
	})

	test('with a small content-length is stored before it is returned', async () => {
		const { capture, stored } = await setup()
		const response = await capture(() => new Response('hello', { headers: { 'content-length': '5' } }))
		expect(await stored()).toMatchObject({ state: 'completed', status: 200, bodyBytes: 5 })
		expect(await response.text()).toBe('hello')
	})

	test('without a content-length is stored when the client has read it', async () => {
		const { capture, stored } = await setup()
		const response = await capture(() => new Response('hello'))
		expect(await stored()).toMatchObject({ state: 'running' })
		expect(await response.text()).toBe('hello')
		expect(await stored()).toMatchObject({ state: 'completed', bodyBytes: 5 })
	})

	test('above maxBodyBytes is delivered, and its key is completed without it', async () => {
		const { capture, stored } = await setup({ maxBodyBytes: 4 })
		const response = await capture(() => new Response('hello'))
		expect(await response.text()).toBe('hello')
		expect(await stored()).toMatchObject({ state: 'unstored' })
	})

	test('with a status that is not stored releases the key', async () => {
		const { capture, stored } = await setup()
		const response = new Response('busy', { status: 503 })
		expect(await capture(() => response)).toBe(response)
		expect(await stored()).toBeUndefined()
	})

	test('whose body fails releases the key, and the client gets the error', async () => {
		const { capture, stored } = await setup()
		const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
		const response = await capture(() => new Response(body))
		await expect(response.text()).rejects.toThrow('reset')
		expect(await stored()).toBeUndefined()
	})

	test('of a claim that a transaction has completed is returned as it is', async () => {
		const { engine, claim, capture, stored } = await setup()
		const response = new Response('sent', { status: 500 })
		const result = await capture(async () => {
			await engine.complete(claim, { status: 201, headers: [], body: new Uint8Array(0) })
			return response
		})
		expect(result).toBe(response)
		expect(await stored()).toMatchObject({ state: 'completed', status: 201 })
	})

	test('releases the key if the handler throws, with the same error', async () => {
		const { capture, stored } = await setup()
		const reason = new Error('boom')
		await expect(capture(() => Promise.reject(reason))).rejects.toBe(reason)
		expect(await stored()).toBeUndefined()
	})
})

describe('a stored response as a web response', () => {
	test('has its status, its headers with repeated names, and its bytes', async () => {
		const response = toWebResponse({
			status: 201,
			headers: [
				['set-cookie', 'a=1'],
				['set-cookie', 'b=2'],
			],
			body: Uint8Array.of(0, 255),
		})
		expect(response.status).toBe(201)
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
		expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.of(0, 255))
	})

	test('has no body and no content type without bytes', () => {
		const response = toWebResponse({ status: 204, headers: [], body: new Uint8Array(0) })
		expect([response.body, response.headers.get('content-type')]).toEqual([null, null])
	})
})
