import { describe, expect, onTestFinished, test } from 'vitest'
import { retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { fetchServerContext } from '../../../src/http/server/fetch-handler.ts'
import { nodeServerContext } from '../../../src/http/server/node-handler.ts'
import type { ServerContext } from '../../../src/http/server/options.ts'
import { listening } from './servers.ts'

/** Exhausts a retry inside the request. */
const giveUp = (context: ServerContext): Promise<unknown> =>
	retry({ maxRetries: 0 })
		.execute(() => Promise.reject(new Error('down')), context)
		.catch(() => undefined)

describe('a fetch handler', () => {
	test('can return a response with immutable headers', async () => {
		const { url, close } = await listening((_request, response) => {
			response.writeHead(503, { 'retry-after': '7' }).end('from behind')
		})
		onTestFinished(close)
		const proxy = fetchServerContext(async (_request, context) => {
			await giveUp(context)
			return fetch(url)
		})
		const response = await proxy(new Request(url))
		expect(response.status).toBe(503)
		expect(response.headers.get('retry-after')).toBe('7')
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(await response.text()).toBe('from behind')
	})

	test("returns the handler's own response if no header is needed", async () => {
		const own = new Response('fine')
		const handler = fetchServerContext(() => own)
		expect(await handler(new Request('http://service.test/'))).toBe(own)
	})

	test("receives the platform's further arguments", async () => {
		const handler = fetchServerContext((_request, { attempt }, env: { region: string }, extra: number) =>
			Response.json([attempt, env.region, extra]),
		)
		const request = new Request('http://service.test/', { headers: { 'x-retry-attempt': '2' } })
		expect(await (await handler(request, { region: 'eu' }, 5)).json()).toEqual([2, 'eu', 5])
	})

	test('a fetch handler that throws rejects, and leaves no timer', async () => {
		const clock = virtualRuntime()
		const failure = new Error('bug')
		const handler = fetchServerContext(
			(_request, { signal }) => {
				expect(signal.aborted).toBe(false)
				throw failure
			},
			{ defaultDeadlineMs: 1_000, runtime: clock },
		)
		await expect(handler(new Request('http://service.test/'))).rejects.toBe(failure)
		expect(clock.pendingTimers).toBe(0)
	})
})

describe("the head of Node's response", () => {
	test.each([
		['with headers', { 'x-own': '1' }],
		['with a list of them', ['x-own', '1']],
		['with none', undefined],
	])('has the mark if it is written with writeHead, %s', async (_, headers) => {
		const { url, close } = await listening(
			nodeServerContext(async (_request, response, context) => {
				await giveUp(context)
				response.writeHead(503, headers).end()
			}),
		)
		onTestFinished(close)
		const response = await fetch(url)
		expect(response.status).toBe(503)
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(response.headers.get('x-own')).toBe(headers ? '1' : null)
	})

	test('keeps its status message with the mark', async () => {
		const { url, close } = await listening(
			nodeServerContext(async (_request, response, context) => {
				await giveUp(context)
				response.writeHead(500, 'Quite Broken', { 'x-own': '1' }).end()
			}),
		)
		onTestFinished(close)
		const response = await fetch(url)
		expect(response.statusText).toBe('Quite Broken')
		expect(response.headers.get('x-own')).toBe('1')
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
	})
})
