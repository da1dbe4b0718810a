import ky, { HTTPError } from 'ky'
import OpenAI from 'openai'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type ResilientFetch, type ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { answer, deferred, reset, type Step } from '../faults/fault-server.ts'
import { BUSY, failure, type SetupOptions, setup, status } from './setup.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const json = (body: unknown): Step => answer({ headers: JSON_TYPE, body: JSON.stringify(body) })

describe('the type', () => {
	test('the type of a resilient fetch is assignable to fetch', () => {
		expectTypeOf(resilientFetch()).toExtend<typeof fetch>()
		const fetcher: typeof globalThis.fetch = resilientFetch()
		expectTypeOf(fetcher).returns.resolves.toEqualTypeOf<Response>()
		expectTypeOf<ResilientFetch>().parameter(0).toEqualTypeOf<string | URL | Request>()
	})

	test('accepts the optional signal of a function, also with exactOptionalPropertyTypes', () => {
		type Init = { readonly signal: AbortSignal | undefined }
		expectTypeOf<Init>().toExtend<NonNullable<Parameters<ResilientFetch>[1]>>()
		expectTypeOf<Init>().toExtend<NonNullable<Parameters<ResilientHttpClient['get']>[1]>>()
	})
})

describe('as the fetch of ky', () => {
	const user = json({ id: 7 })
	const client = async (script: Parameters<typeof setup>[0], options: SetupOptions = {}) => {
		const { fetch, server, waits } = await setup(script, options)
		return { api: ky.create({ fetch, prefix: server.origin, retry: 0 }), server, waits }
	}

	test('it retries, so ky need not', async () => {
		const { api, server, waits } = await client([BUSY, reset('request-head'), user])
		expect(await api.get('users/7').json()).toEqual({ id: 7 })
		expect(server.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])
		expect(waits).toEqual([100, 200])
	})

	test('it returns the status from which ky creates its error', async () => {
		const { api } = await client(status(404))
		const error = await failure(api.get('users/8').json())
		expect(error).toBeInstanceOf(HTTPError)
		expect(error).toHaveProperty('response.status', 404)
	})

	test('it sends the JSON of ky', async () => {
		const { api, server } = await client(json({ ok: true }))
		expect(await api.post('orders', { json: { id: 7 } }).json()).toEqual({ ok: true })
		expect(server.requests[0]).toMatchObject({ method: 'POST', body: '{"id":7}', headers: JSON_TYPE })
	})

	test('it sends a body of ky again, although it comes in a Request', async () => {
		const { api, server } = await client([BUSY, user])
		expect(await api.put('users/7', { json: { id: 7 } }).json()).toEqual({ id: 7 })
		expect(server.requests.map(({ body }) => body)).toEqual(['{"id":7}', '{"id":7}'])
	})

	test('it honors the signal of ky', async () => {
		const { fetch, server, waiting } = await setup(BUSY, { areWaitsHeld: true })
		const controller = new AbortController()
		const asked = failure(ky.get(server.url('/'), { fetch, signal: controller.signal, retry: 0 }).text())
		await waiting
		controller.abort(new Error('changed my mind'))
		expect((await asked).message).toBe('changed my mind')
		expect(server.requests).toHaveLength(1)
	})
})

const QUESTION = { model: 'any', messages: [{ role: 'user' as const, content: 'hi' }] }
const event = (content: string) =>
	`data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`

/** A completion in two pieces; the second one is sent when the test allows it. */
function streamed(opened: Promise<unknown>): Step {
	return {
		async play(exchange) {
			await exchange.bodyArrived
			await exchange.sendHead(200, { 'content-type': 'text/event-stream' })
			await exchange.send(event('Seven'))
			await opened
			await exchange.send(`${event(' times')}data: [DONE]\n\n`)
			exchange.response.end()
		},
	}
}

describe('as the fetch of the openai SDK', () => {
	const client = async (script: Parameters<typeof setup>[0], options: SetupOptions = {}) => {
		const { fetch, server, time } = await setup(script, options)
		const ai = new OpenAI({ fetch, apiKey: 'none', baseURL: server.url('/v1'), maxRetries: 0 })
		return { ai, server, time }
	}
	const completion = json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Seven times' } }] })

	test('it retries a completion with one key', async () => {
		const { ai, server } = await client([BUSY, status(429, { 'retry-after': '1' }), completion], {
			idempotency: 'auto',
		})
		const { choices } = await ai.chat.completions.create(QUESTION)
		expect(choices[0]?.message.content).toBe('Seven times')
		const keys = new Set(server.requests.map(({ headers }) => headers['idempotency-key']))
		expect([server.requests.length, keys.size, keys.has(undefined)]).toEqual([3, 1, false])
		expect(new Set(server.requests.map(({ body }) => body)).size).toBe(1)
	})

	test('it sends a completion without a key once, and the SDK creates its own error', async () => {
		const { ai, server } = await client([BUSY, completion])
		const error = await failure(Promise.resolve(ai.chat.completions.create(QUESTION)))
		expect(error).toBeInstanceOf(OpenAI.InternalServerError)
		expect(server.requests).toHaveLength(1)
	})

	test('it honors the veto header of this server', async () => {
		const { ai, server } = await client(status(500, { 'x-should-retry': 'false' }))
		expect(await failure(Promise.resolve(ai.models.list()))).toBeInstanceOf(OpenAI.InternalServerError)
		expect(server.requests).toHaveLength(1)
	})

	test('it does not cancel a streamed completion after the timeouts', async () => {
		const { promise, resolve } = deferred()
		const { ai, time } = await client([BUSY, streamed(promise)], { timeout: 1_000, idempotency: 'auto' })
		let text = ''
		for await (const { choices } of await ai.chat.completions.create({ ...QUESTION, stream: true })) {
			text += choices[0]?.delta.content ?? ''
			await time.advance(3_600_000)
			resolve()
		}
		expect(text).toBe('Seven times')
		expect(time.pendingTimers).toBe(0)
	})

	test('it frees the connection when a streamed completion is cancelled', async () => {
		const { ai, server } = await client(streamed(new Promise(() => {})))
		for await (const _ of await ai.chat.completions.create({ ...QUESTION, stream: true })) break
		await server.aborted(1)
	})
})
