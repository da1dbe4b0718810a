import { describe, expect, test } from 'vitest'
import { type EventBase, lint, type YaokiEvent } from 'yaoki'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { observationOf } from '../../../src/core/observe/observation.ts'
import { attachObserver } from '../../../src/telemetry/observe/attach.ts'
import { exceptCalls } from '../../support/scenario.ts'
import { answer, hang } from '../faults/fault-server.ts'
import { FETCHES, failure, serve, setup, virtualTime } from './setup.ts'

const fine = answer({ body: 'fine' })
const busy = answer({ status: 503, headers: { 'retry-after': '2' } })

describe.each(FETCHES)('events of a client over %s', (_, fetch) => {
	test('carry pipeline, policy, origin, method, call id and attempt', async () => {
		const { client, server, events } = await setup(fetch, [answer({ status: 500 }), fine], {
			name: 'orders',
		})
		await client.put(server.url(), { body: 'an order', yaoki: { name: 'place order' } })
		expect(events.map(({ type, attempt }) => [type, attempt])).toEqual([
			['retry_attempt', 1],
			['retry_success', 2],
			['success', 2],
			['call', 2],
		])
		for (const event of events)
			expect(event).toMatchObject({
				pipeline: 'orders',
				emitter: expect.any(String),
				key: server.origin,
				method: 'PUT',
				call: 'place order',
				callId: events[0]?.callId,
			})
		expect(events[0]?.callId).toEqual(expect.any(String))
	})

	test('carry status, Retry-After and error type of a failed response as fields', async () => {
		const { client, server, events } = await setup(fetch, [busy, fine])
		await client.get(server.url())
		expect(events[0]).toMatchObject({
			type: 'retry_attempt',
			statusCode: 503,
			retryAfterMs: 2_000,
			errorType: 'HttpError',
			errorCode: 'YAOKI_HTTP',
			delaySource: 'retry-after',
		})
	})

	test('carry the timeout of an attempt and the duration of the call', async () => {
		const { client, server, clock, events } = await setup(fetch, hang(), {
			timeout: 1_000,
			maxRetries: 0,
		})
		const request = failure(client.get(server.url()))
		await server.requested(1)
		await clock.advance(1_000)
		await request
		expect(events).toMatchObject([
			{ type: 'timeout', timeoutMs: 1_000, key: server.origin },
			{ type: 'retry_failure', timeoutMs: 1_000, durationMs: 1_000, errorCode: 'YAOKI_TIMEOUT' },
			{ type: 'failure', timeoutMs: 1_000, method: 'GET' },
			{ type: 'call', outcome: 'failure', attempts: 1, durationMs: 1_000, timeoutMs: 1_000 },
		])
	})

	test('differ in their call ids between requests', async () => {
		const { client, server, events } = await setup(fetch, fine)
		await client.get(server.url())
		await client.get(server.url())
		expect(new Set(events.map(({ callId }) => callId)).size).toBe(2)
	})
})

test('a state change that no call caused names the origin, in the event and in onStateChange', () => {
	const sources: unknown[] = []
	const events: YaokiEvent[] = []
	const origin = 'https://api.example.com'
	const client = new ResilientHttpClient({
		circuitBreaker: { onStateChange: (from, to, source) => sources.push([from, to, source]) },
	})
	client.subscribe((event) => events.push(event))
	client.circuitBreaker(origin)?.isolate()
	expect(events).toMatchObject([{ type: 'state_change', to: 'isolated', key: origin, pipeline: 'http' }])
	expect(sources).toEqual([['closed', 'isolated', { policy: origin, key: origin }]])
})

describe('subscribe', () => {
	test('subscribe of a client covers known and new origins until it is cancelled', async () => {
		const [first, second] = [await serve(fine), await serve(fine)]
		const client = new ResilientHttpClient()
		await client.get(first.url())
		const keys: unknown[] = []
		const unsubscribe = client.subscribe(({ type, key }) => type === 'success' && keys.push(key))
		await client.get(first.url())
		await client.get(second.url())
		unsubscribe()
		await client.get(first.url())
		await client.get(second.url())
		expect(keys).toEqual([first.origin, second.origin])
	})

	test('subscribe of resilientFetch is a property of the function', async () => {
		const server = await serve(fine)
		const fetch = resilientFetch()
		const events: YaokiEvent[] = []
		const unsubscribe = fetch.subscribe((event) => events.push(event))
		await fetch(server.url())
		unsubscribe()
		await fetch(server.url())
		expect(events.map(({ type, key, method }) => [type, key, method])).toEqual([
			['retry_success', server.origin, 'GET'],
			['success', server.origin, 'GET'],
			['call', server.origin, 'GET'],
		])
	})

	test('reports every call of a client and of resilientFetch, a failed status as a failure', async () => {
		const server = await serve(answer({ status: 404 }))
		const events: YaokiEvent[] = []
		const [client, fetch] = [new ResilientHttpClient({ name: 'users' }), resilientFetch({ name: 'users' })]
		for (const source of [client, fetch])
			source.subscribe((event) => event.type === 'call' && events.push(event))
		await client.get(server.url()).catch(() => {})
		await fetch(server.url())
		const expected = {
			emitter: 'users',
			pipeline: 'users',
			key: server.origin,
			method: 'GET',
			outcome: 'failure',
			attempts: 1,
			queuedMs: 0,
			backoffMs: 0,
			stop: 'permanent',
			statusCode: 404,
		}
		expect(events).toMatchObject([expected, expected])
	})

	test('calls one function twice if it subscribed twice, and each unsubscribe removes one', async () => {
		const server = await serve(fine)
		const client = new ResilientHttpClient({ circuitBreaker: false })
		let calls = 0
		const count = exceptCalls(() => calls++)
		const unsubscribe = client.subscribe(count)
		client.subscribe(count)
		await client.get(server.url())
		unsubscribe()
		unsubscribe()
		await client.get(server.url())
		expect(calls).toBe(3)
	})

	test('regression: ended, but not for the download of an origin that was evicted meanwhile', async () => {
		const client = new ResilientHttpClient({
			downloadProgress: true,
			maxOrigins: 1,
			fetch: async () => new Response('a file'),
		})
		const received: string[] = []
		const record = (reader: string) => (event: EventBase) => received.push(`${reader} ${event.type}`)
		client.subscribe(record('kept'))
		const unsubscribe = client.subscribe(record('ended'))
		const onEvent = record('observer')
		const detach = attachObserver(observationOf(client), { level: 'all', onEvent })
		const download = await client.get('https://a.test')
		await client.get('https://b.test')
		expect(Object.keys(client.stats.origins)).toEqual(['https://b.test'])
		unsubscribe()
		detach()
		received.length = 0
		await download.text()
		expect(new Set(received)).toEqual(new Set(['kept download_progress']))
	})
})

describe('inspection', () => {
	test('lets lint see the policies and timeouts of a client and of a fetch', () => {
		const { runtime } = virtualTime()
		const options = { timeout: 1_000, totalTimeoutMs: 5_000, maxRetries: 2, name: 'orders', runtime }
		for (const inspectable of [new ResilientHttpClient(options), resilientFetch(options)]) {
			const report = lint(inspectable)
			expect(report).toMatchObject({ name: 'orders', worstMs: 5_000, maxAttempts: 3 })
			expect(report.findings.map(({ code }) => code)).not.toContain('no-timeout')
		}
	})

	test.each([
		{},
		{ maxRetries: 2 },
		{ timeout: 1_000 },
		{ timeout: 60_000 },
		{ totalTimeoutMs: 60_000 },
		{ timeout: 2_000, hedge: {} },
		{ timeout: 2_000, hedge: { delayMs: 100, maxHedges: 2 } },
		{ timeout: 2_000, hedge: { delayMs: 3_000 }, maxElapsedMs: 9_000 },
		{ timeout: 2_000, bulkhead: { maxConcurrent: 10, maxQueue: 50 } },
	])('lint finds nothing in what the client itself chooses beside %o', (options) => {
		for (const inspectable of [new ResilientHttpClient(options), resilientFetch(options)])
			expect(lint(inspectable).findings).toEqual([])
	})

	test('a given queueTimeoutMs is kept, and lint reports one that is too long', () => {
		const bulkhead = { maxQueue: 50, queueTimeoutMs: 15_000 }
		const { findings } = lint(new ResilientHttpClient({ timeout: 2_000, bulkhead }))
		expect(findings.map(({ code }) => code)).toEqual(['wait-outlasts-timeout'])
	})

	test('a client without timeouts has a queue with one', () => {
		const { findings } = lint(new ResilientHttpClient({ timeout: Infinity }))
		expect(findings.map(({ code }) => code)).toEqual(['no-timeout'])
	})

	test('lists the policy of each origin, and the stats', async () => {
		const server = await serve(fine)
		const client = new ResilientHttpClient()
		await client.get(server.url())
		const { members, stats } = observationOf(client)
		expect([...(members?.() ?? [])].map(([key]) => key)).toEqual([server.origin])
		expect(stats?.()).toEqual(client.stats)
	})
})
