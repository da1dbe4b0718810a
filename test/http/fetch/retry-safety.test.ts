import { Agent } from 'undici'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { refusedUrl, reset } from '../faults/fault-server.ts'
import { describeRetrySafety, METHODS, OFTEN } from './retry-safety-matrix.ts'
import { FINE, failure, SENDERS, status } from './setup.ts'

const WRONG = status(421)

describeRetrySafety(OFTEN)

describe.each(SENDERS)('over $name', ({ fetching, networkError, setup }) => {
	describe('a request that certainly was not processed', () => {
		test.each(Object.keys(METHODS))('is retried: %s to a closed port', async (method) => {
			const { fetch } = fetching()
			const url = await refusedUrl()
			const error = await failure(fetch(url, { method, yaoki: { idempotent: false } }))
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
		})

		test.each(Object.keys(METHODS))('is retried: %s after a 421', async (method) => {
			// The fetch of Node sends a 421 once more by itself, on another connection: so an attempt is two requests.
			const { fetch, url, server } = await setup([WRONG, WRONG, FINE])
			const response = await fetch(url, { method, yaoki: { idempotent: false } })
			expect(response.status).toBe(200)
			expect(explain(response)?.attempts).toMatchObject([{ outcome: 'transient' }, { outcome: 'success' }])
			expect(server.requests).toHaveLength(3)
		})

		test.each(['ENOTFOUND', 'EAI_AGAIN'])('is retried: POST to an unknown host (%s)', async (code) => {
			// A simulated resolver error: a real lookup may be slow without a network.
			const unknown = Object.assign(new Error(`getaddrinfo ${code}`), { code, syscall: 'getaddrinfo' })
			const agent = new Agent({ connect: { lookup: (_name, _options, found) => found(unknown, '') } })
			const { fetch } = fetching({ dispatcher: agent })
			const error = await failure(fetch('http://no-such-host.invalid/', { method: 'POST', body: 'an order' }))
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			await agent.destroy()
		})

		test('is not retried if its body is a used stream', async () => {
			const { fetch } = fetching()
			const body = new Blob(['once']).stream()
			const error = await failure(fetch(await refusedUrl(), { method: 'POST', body, duplex: 'half' }))
			expect(explain(error)).toMatchObject({ stop: 'body-used', attempts: [{}] })
		})
	})

	describe('a connection that is reset before the request was read', () => {
		test.each(['GET', 'PUT', 'DELETE'])('costs a %s nothing', async (method) => {
			const { fetch, url } = await setup([reset('accept'), FINE])
			expect((await fetch(url, { method })).status).toBe(200)
		})

		test('ends a POST, unless the reset came while it still connected', async () => {
			const { fetch, url, server } = await setup([reset('accept'), FINE])
			const ended = await fetch(url, { method: 'POST' }).catch((error) => error)
			// Which of the two occurs depends on the system; without proof the request is never sent again.
			const wasConnecting = !(ended instanceof Error)
			expect(explain(ended)?.stop).toBe(wasConnecting ? 'success' : 'not-idempotent')
			if (!wasConnecting)
				expect(networkError(ended)).toMatchObject({
					code: 'ECONNRESET',
					syscall: expect.not.stringMatching('connect'),
				})
			expect(server.requests).toHaveLength(wasConnecting ? 1 : 0)
		})
	})

	describe("the user's shouldRetry", () => {
		test('can retry a 404, but never a POST without a key', async () => {
			const { fetch, url, server } = await setup(status(404), { shouldRetry: () => true })
			expect(explain(await fetch(url))?.stop).toBe('retries-exhausted')
			expect(explain(await fetch(url, { method: 'POST' }))?.stop).toBe('not-idempotent')
			expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'POST'])
		})

		test("the user's shouldRetry that throws ends the call with its error", async () => {
			const boom = new Error('boom')
			const { fetch, url } = await setup(status(503), {
				shouldRetry: () => {
					throw boom
				},
			})
			expect(await failure(fetch(url))).toBe(boom)
		})
	})
})
