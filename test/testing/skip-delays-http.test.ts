import { afterEach, describe, expect, it, vi } from 'vitest'
import { retry } from 'yaoki'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { skipDelays } from 'yaoki/testing'

const API = 'https://api.example.com'
const SLOW = { maxRetries: 3, baseDelayMs: 3_600_000, maxDelayMs: 3_600_000, jitterStrategy: 'none' } as const

function downService() {
	let requests = 0
	const fetch = async () => {
		requests++
		return new Response('', { status: 503, headers: requests === 1 ? { 'retry-after': '60' } : {} })
	}
	return { fetch, requests: () => requests }
}

describe('skipDelays', () => {
	afterEach(() => void vi.useRealTimers())

	it('does not hang while fake timers replace queueMicrotask, as those of Jest and sinon do', async () => {
		vi.useFakeTimers({ toFake: ['queueMicrotask', 'setTimeout', 'clearTimeout', 'performance', 'Date'] })
		const { fetch, requests } = downService()
		expect((await skipDelays(resilientFetch({ ...SLOW, fetch }))(API)).status).toBe(503)
		expect(requests()).toBe(4)
		const policy = skipDelays(retry(SLOW))
		expect(
			await policy.execute(({ attempt }) => (attempt < 3 ? Promise.reject(new Error('down')) : attempt)),
		).toBe(3)
	})

	it('returns a client with the same options, whose waits take no time', async () => {
		const { fetch, requests } = downService()
		const seen: number[] = []
		const client = new ResilientHttpClient({
			...SLOW,
			fetch,
			baseUrl: API,
			onRetry: (_, attempt) => seen.push(attempt),
		})
		const hurried = skipDelays(client.extend({ headers: { 'x-tenant': 'ada' } }))
		expect(hurried).toBeInstanceOf(ResilientHttpClient)
		await expect(hurried.get('/users/7')).rejects.toMatchObject({ statusCode: 503 })
		expect(requests()).toBe(4)
		expect(seen).toEqual([1, 2, 3])
		expect(client.stats.requests).toBe(0)
	})

	it('returns a resilientFetch with the same options, whose waits take no time', async () => {
		const { fetch, requests } = downService()
		const hurried = skipDelays(resilientFetch({ ...SLOW, fetch }))
		expect((await hurried(API)).status).toBe(503)
		expect(requests()).toBe(4)
	})

	it('rejects anything else', () => {
		expect(() => skipDelays({} as never)).toThrow(
			'expected a policy, a pipeline, a ResilientHttpClient or a resilientFetch',
		)
	})
})
