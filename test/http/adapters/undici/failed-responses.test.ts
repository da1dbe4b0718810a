import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { answer, deferred, drip, hang, hugeBody, wrongLength } from '../../faults/fault-server.ts'
import { composed, failureOf, inVirtualTime, ONE_CONNECTION, serving } from './composed.ts'

describe('a failed response that is not the last one', () => {
	it('a failed response that is not the last one of 50 kB is drained, so that all attempts share one connection', async () => {
		const failed = answer({ status: 503, body: 'x'.repeat(50_000) })
		const server = await serving(({ n }) => (n % 3 === 0 ? answer({ body: 'fine' }) : failed))
		const dispatcher = composed({ budget: false, circuitBreaker: false }, ONE_CONNECTION)
		for (let n = 0; n < 20; n++) {
			const { statusCode, body } = await request(server.url(), { dispatcher })
			expect([statusCode, await body.text()]).toEqual([200, 'fine'])
		}
		expect(server.requests).toHaveLength(60)
		expect(server.connections.opened).toBe(1)
	})

	it.each([
		['that says so', hugeBody()],
		['that does not say so', drip({ status: 500, piece: 'x'.repeat(10_000), pace: async () => {} })],
	])('is cancelled if it is too large: one %s', async (_, failed) => {
		const server = await serving([failed, answer({ body: 'fine' })])
		const { statusCode } = await request(server.url(), { dispatcher: composed() })
		expect(statusCode).toBe(200)
		await server.aborted(1)
		expect(server.requests[0]?.bytesWritten).toBeLessThan(20_000_000)
	})

	it('is cancelled after a second if it arrives slowly', async () => {
		const server = await serving([drip({ status: 503 }), answer({ body: 'fine' })])
		const waits = deferred()
		const { dispatcher, clock } = inVirtualTime({ baseDelayMs: 5_000, onRetry: () => waits.resolve() })
		const asked = request(server.url(), { dispatcher })
		await waits.promise
		await clock.advance(999)
		expect(server.abortedCount).toBe(0)
		await clock.advance(2)
		await server.aborted(1)
		await clock.advance(10_000)
		expect((await asked).statusCode).toBe(200)
	})

	it('is harmless if its connection breaks', async () => {
		const server = await serving([wrongLength({ status: 503 }), answer({ body: 'fine' })])
		const { statusCode } = await request(server.url(), { dispatcher: composed() })
		expect(statusCode).toBe(200)
	})
})

describe('a failed response that is the last one', () => {
	it('is delivered with head, trailers and a body with backpressure', async () => {
		const body = 'x'.repeat(2_000_000)
		const server = await serving(answer({ status: 500, body, headers: { 'x-own': 'yes', trailer: 'x-end' } }))
		const answered = await request(server.url(), { dispatcher: composed({ maxRetries: 0 }) })
		expect(answered).toMatchObject({ statusCode: 500, headers: { 'x-own': 'yes' } })
		expect((await answered.body.text()).length).toBe(body.length)
	})

	it('fails in its body like any other', async () => {
		const server = await serving(wrongLength({ status: 500 }))
		const { statusCode, body } = await request(server.url(), { dispatcher: composed({ maxRetries: 0 }) })
		expect(statusCode).toBe(500)
		expect(await failureOf(body.text())).toMatchObject({ code: 'UND_ERR_SOCKET' })
	})

	it('has a timeout too', async () => {
		const server = await serving(hang('body', { status: 500 }))
		const { dispatcher, clock } = inVirtualTime({ timeout: 1_000, maxRetries: 0 })
		const { body } = await request(server.url(), { dispatcher })
		const failure = failureOf(body.text())
		await clock.advance(1_001)
		expect(await failure).toMatchObject({ name: 'TimeoutError' })
		expect(clock.pendingTimers).toBe(0)
	})

	it('shows its head to retry hooks, and its body only to the caller', async () => {
		const seen: unknown[] = []
		const reads: Promise<unknown>[] = []
		const server = await serving(answer({ status: 500, body: 'why', headers: { 'x-why': 'because' } }))
		const shouldRetry = (error: unknown) => {
			const { response } = error as { response: Response }
			seen.push(response.ok, response.headers.get('x-why'), response.url)
			reads.push(response.text(), response.json(), response.arrayBuffer(), response.blob())
			return false
		}
		const { body } = await request(server.url('/a'), { dispatcher: composed({ shouldRetry }) })
		expect(seen).toEqual([false, 'because', server.url('/a')])
		for (const read of reads) await expect(read).rejects.toThrow(/that sent the request/)
		expect(reads).toHaveLength(4)
		expect(await body.text()).toBe('why')
	})
})

it('does not apply the timeout to an event stream', async () => {
	const end = deferred()
	const headers = { 'content-type': 'text/event-stream' }
	const server = await serving(drip({ headers, piece: 'data: 1\n\n', stop: end.promise }))
	const { dispatcher, clock } = inVirtualTime({ timeout: 1_000 })
	const { body } = await request(server.url(), { dispatcher })
	await clock.advance(100_000)
	expect(clock.pendingTimers).toBe(0)
	end.resolve()
	expect(await body.text()).toMatch(/^(data: 1\n\n)+$/)
})

describe('a hedge', () => {
	it('delivers one response, and the slower request is aborted', async () => {
		const server = await serving([hang(), answer({ body: 'fine' })])
		const dispatcher = composed({ hedge: { delayMs: 1 } })
		const { statusCode, body } = await request(server.url(), { dispatcher })
		expect([statusCode, await body.text()]).toEqual([200, 'fine'])
		await server.aborted(1)
	})

	it('a hedge that fails first is released when the other one succeeds', async () => {
		const late = deferred()
		const failed = answer({ status: 503, body: 'x'.repeat(10_000) })
		const server = await serving([answer({ body: 'fine', after: late.promise }), failed])
		const { dispatcher, clock } = inVirtualTime({ hedge: { delayMs: 1 }, maxRetries: 0 }, {})
		const asked = request(server.url(), { dispatcher })
		await server.requested(1)
		await clock.advance(2)
		await server.done(2)
		late.resolve()
		const { statusCode, body } = await asked
		expect([statusCode, await body.text()]).toEqual([200, 'fine'])
		await clock.advance(0)
		expect(clock.pendingTimers).toBe(0)
	})
})
