import { setImmediate } from 'node:timers/promises'
import { Agent } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { explain } from 'yaoki'
import { answer, drip, hang, hugeBody, reset } from '../faults/fault-server.ts'
import { FINE, failingOnce, SENDERS } from './setup.ts'

const FIFTY_KB = answer({ status: 503, body: 'x'.repeat(50_000) })
const CALLS = 1_000
const WORKERS = 4

/** An agent that keeps idle connections. By default undici closes a spare one after 4 s, which a busy machine needs for this test. */
function keepingAgent(): Agent {
	const agent = new Agent({ keepAliveTimeout: 600_000 })
	onTestFinished(() => agent.destroy())
	return agent
}

/** All waits together are then shorter on the test's clock than the second after which the body of another request is cancelled. */
const SHORT = { baseDelayMs: 0.5 }

describe.each(SENDERS)('over $name', ({ setup }) => {
	describe(`${CALLS} requests with a retried 503 and its body of 50 kB`, () => {
		test('use a handful of connections, and leave none of them open', async () => {
			const agent = keepingAgent()
			const { fetch, server } = await setup(failingOnce(FIFTY_KB), { ...SHORT, dispatcher: agent })
			let calls = 0
			const work = async () => {
				while (calls < CALLS) await (await fetch(server.url(`/${calls++}`))).text()
			}
			await Promise.all(Array.from({ length: WORKERS }, work))
			expect(server.requests).toHaveLength(2 * CALLS)
			// A retry may go out while the body before it is still being read.
			expect(server.connections.opened).toBeLessThanOrEqual(2 * WORKERS)
			// Resolves only when every body has come to its end.
			await agent.close()
			await server.allClosed()
			expect(server.abortedCount).toBe(0)
		})

		test('one after the other use hardly more than one connection', async () => {
			const { fetch, server } = await setup(failingOnce(FIFTY_KB), { ...SHORT, dispatcher: keepingAgent() })
			for (let call = 0; call < 200; call++) await (await fetch(server.url(`/${call}`))).text()
			expect(server.requests).toHaveLength(400)
			expect(server.connections.opened).toBeLessThanOrEqual(3)
		})
	})

	/** What the buffers of both systems may hold before a byte is read. */
	const BUFFERED = 20_000_000

	describe('a retried error body', () => {
		test('a retried error body of 100 MB is cancelled immediately, without filling the memory', async () => {
			const { fetch, url, server } = await setup([hugeBody({ status: 503 }), hugeBody(), FINE])
			const response = await fetch(url)
			expect(await response.text()).toBe('fine')
			for (const nth of [1, 2]) expect((await server.aborted(nth)).bytesWritten).toBeLessThan(BUFFERED)
		})

		test('a retried error body without length and end is cancelled too', async () => {
			const endless = drip({ status: 503, piece: 'x'.repeat(65_536), pace: setImmediate })
			const { fetch, url, server } = await setup([endless, FINE])
			expect((await fetch(url)).status).toBe(200)
			expect((await server.aborted(1)).bytesWritten).toBeLessThan(BUFFERED)
		})

		test('a retried error body that does not end is cancelled after a second, whatever the timeouts', async () => {
			const slow = hang('body', { status: 503, headers: {} })
			const { fetch, url, server, time } = await setup([slow, FINE], {
				timeout: Infinity,
				totalTimeoutMs: Infinity,
			})
			expect((await fetch(url)).status).toBe(200)
			expect(server.requests[0]?.outcome).toBe('open')
			await time.advance(1_000)
			await server.aborted(1)
			expect(time.pendingTimers).toBe(0)
		})

		test('a retried error body that breaks has no effect', async () => {
			const { fetch, url } = await setup([reset('body', { status: 503 }), FINE])
			const response = await fetch(url)
			expect([response.status, explain(response)?.attempts.length]).toEqual([200, 2])
		})

		test('is drained too if the call is aborted during the wait', async () => {
			const { fetch, url, server, waiting } = await setup(hugeBody({ status: 503 }), { areWaitsHeld: true })
			const controller = new AbortController()
			const asked = fetch(url, { signal: controller.signal })
			await waiting
			controller.abort(new Error('changed my mind'))
			await expect(asked).rejects.toThrow('changed my mind')
			expect((await server.aborted(1)).bytesWritten).toBeLessThan(BUFFERED)
		})
	})
})
