import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { deferred, hang, hugeBody } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, interrupted, setup, status } from './setup.ts'

// What applies to resilientFetch only: it returns real Responses of any status with their bodies. A client throws for any other
// status than 2xx, after reading the beginning of the body; over undici its responses have only the common read methods.

describe('a Response', () => {
	test.each([200, 204, 304, 404, 503])('is returned for a %i', async (code) => {
		const { fetch, url } = await setup(status(code))
		const response = await fetch(url)
		expect(response).toBeInstanceOf(Response)
		expect(response).toMatchObject({ status: code, type: 'basic' })
	})

	test('is explained after it has been cloned', async () => {
		const { fetch, url } = await setup([BUSY, FINE])
		const response = await fetch(url)
		expect(await response.clone().text()).toBe('fine')
		await response.text()
		expect(explain(response)?.attempts).toHaveLength(2)
	})

	test('has no timeout after it was cloned', async () => {
		const { promise, resolve } = deferred()
		const { fetch, url, time } = await setup(interrupted(promise), { timeout: 1_000 })
		const copy = (await fetch(url)).clone()
		expect(time.pendingTimers).toBe(0)
		await time.advance(3_600_000)
		resolve()
		expect(await copy.text()).toBe('one, two')
	})
})

const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '100' }

describe('a timeout while the body is read', () => {
	test.each(['bytes', 'formData'] as const)(
		'rejects %s() with TimeoutError and frees the connection',
		async (how) => {
			const { fetch, url, server, time } = await setup(hang('body', { headers: FORM }), { timeout: 1_000 })
			const reading = failure((await fetch(url))[how]())
			await time.advance(1_000)
			expect(await reading).toMatchObject({ name: 'TimeoutError', timeoutMs: 1_000 })
			await server.aborted(1)
			expect(time.pendingTimers).toBe(0)
		},
	)

	test('applies to the body of a returned error too', async () => {
		const { fetch, url, server, time } = await setup(hang('body', { status: 404 }), { timeout: 1_000 })
		const response = await fetch(url)
		expect(response.status).toBe(404)
		const reading = failure(response.text())
		await time.advance(1_000)
		expect((await reading).name).toBe('TimeoutError')
		await server.aborted(1)
	})

	test('applies to the unread body of an error, and frees the connection', async () => {
		const { fetch, url, server, time } = await setup(hang('body', { status: 404 }), { timeout: 1_000 })
		const response = await fetch(url)
		await time.advance(1_000)
		await server.aborted(1)
		expect((await failure(response.text())).name).toBe('TimeoutError')
		expect(time.pendingTimers).toBe(0)
	})
})

/** What the buffers of both systems may hold before a byte is read. */
const BUFFERED = 20_000_000

describe('the last error body', () => {
	test('can be read completely (100 MB) with backpressure', async () => {
		const { fetch, url, server } = await setup([BUSY, hugeBody()], { maxRetries: 1 })
		const response = await fetch(url)
		expect([response.status, explain(response)?.stop]).toEqual([500, 'retries-exhausted'])
		expect(server.requests[1]?.bytesWritten).toBeLessThan(BUFFERED)
		let bytes = 0
		for await (const chunk of response.body ?? []) bytes += chunk.length
		expect(bytes).toBe(100_000_000)
	})

	test('the last error body of a status that is not retried can be read too', async () => {
		const { fetch, url } = await setup(hugeBody({ status: 404, bytes: 1_000_000 }))
		expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(1_000_000)
	})

	test('can be cancelled, which frees the connection', async () => {
		const { fetch, url, server, time } = await setup(hugeBody(), { maxRetries: 0 })
		const response = await fetch(url)
		await response.body?.cancel()
		expect((await server.aborted(1)).bytesWritten).toBeLessThan(BUFFERED)
		await time.advance(10_000)
		expect(time.pendingTimers).toBe(0)
	})
})
