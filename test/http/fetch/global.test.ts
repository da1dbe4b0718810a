import { describe, expect, test, vi } from 'vitest'
import { explain } from 'yaoki'
import { resilientFetch } from 'yaoki/http'

import { deferred, hang } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, fetching, interrupted, setup } from './setup.ts'

describe('the global fetch', () => {
	test('is looked up for each request, because tools replace it', async () => {
		const { fetch, url, server } = await setup(FINE)
		vi.stubGlobal('fetch', async () => new Response('from a tool'))
		expect(await (await fetch(url)).text()).toBe('from a tool')
		vi.unstubAllGlobals()
		expect(await (await fetch(url)).text()).toBe('fine')
		expect(server.requests).toHaveLength(1)
	})

	test('can be replaced by a resilient fetch (regression: endless recursion)', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		vi.stubGlobal('fetch', fetch)
		const response = await globalThis.fetch(url)
		expect([response.status, await response.text()]).toEqual([200, 'fine'])
		expect(explain(response)?.attempts).toHaveLength(2)
		expect(server.requests).toHaveLength(2)
	})

	test('can be replaced by a second resilient fetch, or used by one', async () => {
		const { url, server } = await setup(FINE)
		const before = resilientFetch()
		vi.stubGlobal('fetch', resilientFetch())
		vi.stubGlobal('fetch', resilientFetch())
		for (const fetch of [globalThis.fetch, before, resilientFetch()])
			expect(await (await fetch(url)).text()).toBe('fine')
		expect(server.requests).toHaveLength(3)
	})
})

describe('a resilient fetch around another one', () => {
	const nested = async (script: Parameters<typeof setup>[0]) => {
		const inner = fetching({ timeout: 1_000, maxRetries: 0 })
		const outer = await setup(script, { fetch: inner.fetch, timeout: 2_000, maxRetries: 1 })
		return { ...outer, inner }
	}

	test('releases a stream for both (regression: the inner timeout cancelled it)', async () => {
		const { promise, resolve } = deferred()
		const { fetch, url, time, inner } = await nested(interrupted(promise))
		const { body } = await fetch(url)
		const text = new Response(body).text()
		await inner.time.advance(3_600_000)
		await time.advance(3_600_000)
		resolve()
		expect(await text).toBe('one, two')
	})

	test('ends the body timeout for both', async () => {
		const { fetch, url, time, inner } = await nested([BUSY, FINE])
		expect(await (await fetch(url)).text()).toBe('fine')
		expect([time.pendingTimers, inner.time.pendingTimers]).toEqual([0, 0])
	})

	test('ends a body by the outer timeout (regression: it was ignored)', async () => {
		const { fetch, url, time, inner, server } = await nested(hang('body'))
		const reading = failure((await fetch(url)).text())
		await time.advance(2_000)
		expect(await reading).toMatchObject({ name: 'TimeoutError', timeoutMs: 2_000 })
		await server.aborted(1)
		expect([time.pendingTimers, inner.time.pendingTimers]).toEqual([0, 0])
	})

	test('ends the wait for a head by the inner timeout', async () => {
		const { fetch, url, time, inner, server } = await nested([hang(), FINE])
		const asked = fetch(url)
		await server.requested(1)
		await inner.time.advance(1_000)
		expect(await (await asked).text()).toBe('fine')
		expect([time.pendingTimers, inner.time.pendingTimers]).toEqual([0, 0])
	})
})
