import { describe, expect, it } from 'vitest'
import { explain } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { seededRandom, virtualRuntime } from 'yaoki/testing'
import { answer } from '../faults/fault-server.ts'
import { FETCHES, setup } from './setup.ts'

const FAILING = 0.3
const budget = { maxRetryRatio: 0.1 }
// Without a breaker, which would reject most of them and prove nothing about the budget.
const common = { maxRetries: 3, budget, circuitBreaker: false } as const

const countOf = (results: readonly PromiseSettledResult<unknown>[], status: 'fulfilled' | 'rejected') =>
	results.filter((result) => result.status === status).length

describe('a burst of 10,000 requests to a server that fails three in ten', () => {
	const bulkheads: readonly (readonly [string, HttpClientOptions['bulkhead']])[] = [
		['concurrently', false],
		['a hundred at a time', { maxConcurrent: 100, maxQueue: 10_000 }],
	]

	it.each(bulkheads)('causes at most 1.12 calls per request, %s', async (_, bulkhead) => {
		const clock = virtualRuntime({ seed: 7 })
		const random = seededRandom(11)
		let calls = 0
		const fetch = async () => {
			calls++
			return new Response('', { status: random() < FAILING ? 503 : 200 })
		}
		const client = new ResilientHttpClient({ ...common, fetch, bulkhead, runtime: clock })
		const all = Promise.allSettled(
			Array.from({ length: 10_000 }, () => client.get('http://a.example.com/').then((r) => r.text())),
		)
		await clock.runUntilIdle()
		const results = await all
		expect(calls).toBeLessThanOrEqual(11_200)
		// The budget is used: a tenth of the calls was retried, and most of these succeeded.
		expect(calls).toBeGreaterThanOrEqual(10_900)
		expect(countOf(results, 'fulfilled')).toBeGreaterThan(7_500)
		expect(client.stats).toMatchObject({
			requests: 10_000,
			attempts: calls,
			failures: countOf(results, 'rejected'),
		})
	})
})

describe.each(FETCHES)('a burst over %s', (_, fetch) => {
	it('causes no more on a real socket, and explain says that the budget was exhausted', async () => {
		const random = seededRandom(11)
		const script = () => answer({ status: random() < FAILING ? 503 : 200 })
		const options = { ...common, bulkhead: { maxConcurrent: 50, maxQueue: 1_000 } }
		const { client, server } = await setup(fetch, script, options)
		const results = await Promise.allSettled(
			Array.from({ length: 1_000 }, () => client.get(server.url()).then((r) => r.text())),
		)
		expect(server.requests.length).toBeLessThanOrEqual(1_120)
		expect(server.requests.length).toBe(client.stats.attempts)
		const failed = results.filter((result) => result.status === 'rejected')
		const stops = failed.map(({ reason }) => explain(reason)?.stop)
		expect(stops.filter((stop) => stop === 'budget').length).toBeGreaterThan(failed.length / 2)
		expect(stops.filter((stop) => stop !== 'budget' && stop !== 'retries-exhausted')).toEqual([])
		expect(server.connections.mostOpen).toBeLessThanOrEqual(100)
	})
})
