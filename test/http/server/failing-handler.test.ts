import { get } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { format } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { retry } from 'yaoki'
import { type HttpOptions, ResilientHttpClient } from 'yaoki/http'
import { nodeServerContext } from '../../../src/http/server/node-handler.ts'
import type { ServerContext } from '../../../src/http/server/options.ts'
import { unreadableError } from '../../support/unreadable-error.ts'
import { deferred } from '../deferred.ts'
import { connected } from './http2-client.ts'
import { listening, type Running, type Start, servers } from './servers.ts'

/** The errors logged to the console, which is silenced. */
function loggedErrors(): unknown[][] {
	const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined)
	onTestFinished(() => spy.mockRestore())
	return spy.mock.calls
}

async function url(starting: Promise<Running>): Promise<string> {
	const running = await starting
	onTestFinished(running.close)
	return running.url
}

const atOnce = { maxRetries: 2, baseDelayMs: 0 }

/** A -> B -> C; C responds with this status. A and B do not catch the errors of their clients. */
async function chain(start: Start, status: number, edge: HttpOptions = {}) {
	const calls = { b: 0, c: 0 }
	const asking = (next: string, options: HttpOptions, count = () => {}) => {
		const client = new ResilientHttpClient({ ...atOnce, ...options })
		return start(async (context) => {
			count()
			return (await client.get(next, { yaoki: { parent: context } })).status
		})
	}
	const c = await url(
		listening((_request, response) => {
			calls.c++
			response.writeHead(status).end()
		}),
	)
	const b = await url(asking(c, {}, () => calls.b++))
	return { a: await url(asking(b, edge)), calls }
}

/** Exhausts the retries inside the request. */
const giveUp = (context: ServerContext | undefined, error: Error): Promise<never> =>
	retry({ maxRetries: 0 }).execute(() => Promise.reject(error), context)

describe.each(servers)('%s', (_, start) => {
	test('a handler that throws after exhausted retries is not retried by its caller', async () => {
		loggedErrors()
		const { a, calls } = await chain(start, 503)
		const response = await fetch(a)
		expect(response.status).toBeGreaterThanOrEqual(500)
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(calls).toEqual({ b: 1, c: 3 })
	})

	test('an outermost caller retries such a handler', async () => {
		loggedErrors()
		const { a, calls } = await chain(start, 503, { nested: 'outermost' })
		await fetch(a)
		expect(calls).toEqual({ b: 3, c: 3 })
	})
})

describe.each(servers.slice(0, 2))('%s, whose handler throws', (_, start) => {
	test('responds with 502 in JSON after exhausted retries, and logs the error once', async () => {
		const errors = loggedErrors()
		const failure = new Error('the database is down')
		const service = await url(start((context) => giveUp(context, failure)))
		const response = await fetch(service)
		expect(response.status).toBe(502)
		expect(response.headers.get('content-type')).toBe('application/json')
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(await response.json()).toEqual({ error: 'retries exhausted' })
		expect(errors).toEqual([['yaoki: a request handler failed:', failure]])
	})

	test('responds with 502 if the handler throws its own error with the original as cause', async () => {
		loggedErrors()
		const service = await url(
			start(async (context) => {
				await giveUp(context, new Error('down')).catch(() => undefined)
				throw new TypeError('no user')
			}),
		)
		expect((await fetch(service)).headers.get('x-retries-exhausted')).toBe('true')
	})

	test('does not pass on the status of a downstream service', async () => {
		loggedErrors()
		const { a, calls } = await chain(start, 404)
		expect((await fetch(a)).status).toBe(502)
		expect(calls).toEqual({ b: 1, c: 1 })
	})
})

describe('a fetch handler that throws anything else', () => {
	test('is left to the platform, and nothing is logged', async () => {
		const errors = loggedErrors()
		const fetchHandler = servers[1]?.[1]
		const service = await url(fetchHandler?.(() => Promise.reject(new Error('bug'))) ?? expect.unreachable())
		// The platform of these tests closes the connection.
		await expect(fetch(service)).rejects.toThrow()
		expect(errors).toEqual([])
	})
})

describe('a handler of node:http that throws anything else', () => {
	test.each([
		[
			'synchronously',
			() => () => {
				throw new Error('bug')
			},
		],
		['later', () => () => Promise.reject(new Error('bug'))],
	])('%s is answered with 500 without the mark, and logged once', async (_when, make) => {
		const errors = loggedErrors()
		const service = await url(listening(nodeServerContext(make())))
		const response = await fetch(service)
		expect(response.status).toBe(500)
		expect(response.headers.has('x-retries-exhausted')).toBe(false)
		expect(await response.json()).toEqual({ error: 'internal server error' })
		expect(errors).toEqual([['yaoki: a request handler failed:', new Error('bug')]])
	})

	// console.error threw, the request hung, and the unhandled rejection ended the process.
	test('is answered in the same way if the error cannot be read', async () => {
		const reports: string[] = []
		// Node's console formats what it gets.
		const spy = vi.spyOn(console, 'error')
		spy.mockImplementation((...values) => void reports.push(format(...values)))
		onTestFinished(() => spy.mockRestore())
		const service = await url(listening(nodeServerContext(() => Promise.reject(unreadableError()))))
		expect((await fetch(service)).status).toBe(500)
		expect(reports).toEqual(['yaoki: a request handler failed: object'])
	})

	test('is answered in the same way if run throws', async () => {
		const errors = loggedErrors()
		const run = () => {
			throw new Error('not today')
		}
		const service = await url(listening(nodeServerContext(() => undefined, { run })))
		expect((await fetch(service)).status).toBe(500)
		expect(errors).toHaveLength(1)
	})

	test('has its headers removed, because they describe another response', async () => {
		loggedErrors()
		const service = await url(
			listening(
				nodeServerContext((_request, response) => {
					response.setHeader('content-length', '5000')
					response.setHeader('cache-control', 'public, max-age=3600')
					throw new Error('bug')
				}),
			),
		)
		const response = await fetch(service)
		expect(response.headers.has('cache-control')).toBe(false)
		expect(await response.json()).toEqual({ error: 'internal server error' })
	})

	test('a handler of node:http that throws anything else during its response has its connection closed, so that a partial response does not look complete', async () => {
		const errors = loggedErrors()
		const service = await url(
			listening(
				nodeServerContext((_request, response) => {
					response.write('the first half')
					throw new Error('bug')
				}),
			),
		)
		await expect(fetch(service).then((response) => response.text())).rejects.toThrow()
		expect(errors).toHaveLength(1)
	})

	test('a handler of node:http that throws anything else after its response does not change the response', async () => {
		const errors = loggedErrors()
		const body = 'x'.repeat(5_000_000)
		const service = await url(
			listening(
				nodeServerContext((_request, response) => {
					response.end(body)
					throw new Error('bug')
				}),
			),
		)
		expect(await (await fetch(service)).text()).toHaveLength(body.length)
		expect(errors).toHaveLength(1)
	})

	test('is not logged if it throws because the client has disconnected', async () => {
		const errors = loggedErrors()
		const started = deferred()
		const over = deferred()
		const serve = nodeServerContext(async (_request, _response, { signal }) => {
			started.resolve()
			await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
		})
		const service = await url(listening((request, response) => serve(request, response).then(over.resolve)))
		const client = get(service).on('error', () => undefined)
		await started.promise
		client.destroy()
		await over.promise
		expect(errors).toEqual([])
	})

	test('over HTTP/2 is answered too', async () => {
		const errors = loggedErrors()
		const server = createHttp2Server(
			nodeServerContext(async (_request, _response, context) => giveUp(context, new Error('down'))),
		)
		const client = await connected(server)
		const sent = client.request({ ':path': '/' })
		const head = await new Promise<object>((resolve) => sent.on('response', resolve))
		sent.resume()
		expect(head).toMatchObject({ ':status': 502, 'x-retries-exhausted': 'true' })
		expect(errors).toHaveLength(1)
	})
})
