/** A long-lived signal of the caller, such as one per process: a finished request leaves no listener on it. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { answer, deferred, hang, reset } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, interrupted, SENDERS } from './setup.ts'

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

describe.each(SENDERS)('over $name', ({ setup }) => {
	test('is linked while the body is read, and no longer', async () => {
		const { promise, resolve } = deferred()
		const { fetch, url } = await setup(interrupted(promise))
		const { signal } = new AbortController()
		const response = await fetch(url, { signal })
		expect(listeners(signal)).toBeGreaterThan(0)
		const text = response.text()
		resolve()
		expect(await text).toBe('one, two')
		expect(listeners(signal)).toBe(0)
	})

	test.each([
		['a response without a body', answer({ status: 204 })],
		['a failed status after retries', BUSY],
	])('has no listener after %s', async (_, step) => {
		const { fetch, url } = await setup(step)
		const { signal } = new AbortController()
		await (await fetch(url, { signal })).text()
		for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
		expect(listeners(signal)).toBe(0)
	})

	test('has no listener after a network error, or a timeout', async () => {
		const { fetch, url, server, time } = await setup(reset('request-head'), { maxRetries: 0, timeout: 100 })
		const { signal } = new AbortController()
		await failure(fetch(url, { signal }))
		expect(listeners(signal)).toBe(0)
		server.play(hang())
		const asked = failure(fetch(url, { signal }))
		await server.requested(2)
		await time.advance(100)
		expect(await asked).toMatchObject({ name: 'TimeoutError' })
		expect(listeners(signal)).toBe(0)
	})

	test('has no listener after a hedge', async () => {
		const { fetch, url, server, time } = await setup(({ n }) => (n === 1 ? hang() : FINE), {
			hedge: { delayMs: 50 },
		})
		const { signal } = new AbortController()
		const asked = fetch(url, { signal })
		await server.requested(1)
		await time.advance(50)
		expect(await (await asked).text()).toBe('fine')
		expect(listeners(signal)).toBe(0)
	})

	test('aborts a stream that the caller reads, also after the timeout', async () => {
		const { fetch, url, time } = await setup(interrupted(new Promise(() => {})), { timeout: 100 })
		const leaving = new AbortController()
		const reader = (await fetch(url, { signal: leaving.signal })).body?.getReader()
		expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('one, ')
		await time.advance(1_000)
		const reason = new Error('gone')
		const next = failure(Promise.resolve(reader?.read()))
		leaving.abort(reason)
		expect(await next).toBe(reason)
	})

	test('aborts the winner of a hedge while its body is read', async () => {
		const { fetch, url, server, time } = await setup(
			({ n }) => (n === 1 ? hang() : interrupted(new Promise(() => {}))),
			{ hedge: { delayMs: 50 } },
		)
		const leaving = new AbortController()
		const asked = fetch(url, { signal: leaving.signal })
		await server.requested(1)
		await time.advance(50)
		const text = failure((await asked).text())
		const reason = new Error('gone')
		leaving.abort(reason)
		expect(await text).toBe(reason)
	})
})
