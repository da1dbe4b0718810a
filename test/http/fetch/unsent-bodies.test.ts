/** A stream is ended if its request is rejected before it was sent, as `fetch` does: what it reads from must be released. */

import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { RequestBody } from '../../../src/http/transport/request.ts'
import { answer, deferred, hang } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, SENDERS, type SetupOptions, setup } from './setup.ts'

interface Watched {
	readonly body: RequestBody
	/** The reason; 'none' if the kind of stream has none. */
	readonly ended: Promise<unknown>
}

function webStream(): Watched {
	const { promise, resolve } = deferred<unknown>()
	return { body: new ReadableStream({ cancel: resolve }), ended: promise }
}

function nodeStream(): Watched {
	const { promise, resolve } = deferred<unknown>()
	const body = new Readable({ read() {} })
	body.on('close', () => resolve('none'))
	return { body, ended: promise }
}

const STREAMS: readonly (readonly [string, () => Watched])[] = [
	['a web stream', webStream],
	['a Node stream', nodeStream],
]

describe.each(SENDERS)('over $name', ({ setup: setupOf }) => {
	describe.each(STREAMS)('%s that is not sent', (_, create) => {
		/** Sends a request that is rejected, and returns its error. */
		const rejected = async (
			options: SetupOptions,
			prepare: (send: (init: object) => Promise<unknown>) => unknown,
			step = FINE,
			init: object = {},
		) => {
			const { fetch, url, server } = await setupOf(step, { maxRetries: 0, ...options })
			await prepare((given) => fetch(url, given))
			const sent = server.requests.length
			const { body, ended } = create()
			const error = await failure(fetch(url, { method: 'PUT', body, ...init }))
			expect(server.requests.length).toBe(sent)
			expect([error, 'none']).toContain(await ended)
			return error
		}

		test('is ended if the signal is already aborted', async () => {
			const reason = new Error('gone')
			const error = await rejected({}, () => {}, FINE, { signal: AbortSignal.abort(reason) })
			expect(error).toBe(reason)
		})

		test('is ended if the circuit is open', async () => {
			const options = { circuitBreaker: { failureThreshold: 1 } }
			const error = await rejected(options, (send) => send({}).catch(() => {}), BUSY)
			expect(error).toMatchObject({ name: 'CircuitOpenError' })
		})

		test('is ended if the origin is paused', async () => {
			const busy = answer({ status: 429, headers: { 'retry-after': '3600' } })
			const error = await rejected({}, (send) => send({}).catch(() => {}), busy)
			expect(error).toMatchObject({ name: 'RateLimitedError' })
		})

		test('is ended if the bulkhead is full', async () => {
			const leaving = new AbortController()
			const options = { bulkhead: { maxConcurrent: 1, maxQueue: 0 } }
			const error = await rejected(
				options,
				(send) => void send({ signal: leaving.signal }).catch(() => {}),
				hang(),
			)
			leaving.abort()
			expect(error).toMatchObject({ name: 'BulkheadRejectedError' })
		})
	})

	test('a body that was sent is left to the transport', async () => {
		const { fetch, url } = await setupOf(BUSY, { maxRetries: 0 })
		const body = new Blob(['tea']).stream()
		expect((await fetch(url, { method: 'PUT', body })).status).toBe(503)
	})

	test('a function that creates a body is not called', async () => {
		const { fetch, url } = await setupOf(FINE)
		let calls = 0
		const body = () => `${++calls}`
		await failure(fetch(url, { method: 'PUT', body, signal: AbortSignal.abort() }))
		expect(calls).toBe(0)
	})
})

test('the body of a Request is ended, with the reason', async () => {
	const { fetch, url } = await setup(FINE)
	const { body, ended } = webStream()
	const request = new Request(url, { method: 'PUT', body: body as ReadableStream, duplex: 'half' } as object)
	const reason = new Error('gone')
	expect(await failure(fetch(request, { signal: AbortSignal.abort(reason) }))).toBe(reason)
	expect(await ended).toBe(reason)
})
