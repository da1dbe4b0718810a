import { expect, test } from 'vitest'
import { explain, type YaokiEvent } from 'yaoki'
import { parseServiceConfig } from 'yaoki/grpc'
import { resilientFetch } from 'yaoki/http'
import { httpServiceConfig } from '../../../src/grpc/http/http-service-config.ts'
import { failure, serve, virtualTime } from '../../http/client/setting.ts'
import { hang } from '../../http/faults/fault-server.ts'
import { configured, failing, fine, forAll, RETRY } from './configured.ts'

const throttled = (settings: object, maxTokens = 4, tokenRatio = 0.5) => ({
	...forAll(settings),
	retryThrottling: { maxTokens, tokenRatio },
})

const OFF = { circuitBreaker: false }

test('failures stop retries while at most half of the tokens are left', async () => {
	const { client, server } = await configured(failing(503), throttled({ retryPolicy: RETRY }), OFF)
	// 4 tokens: the first failure leaves 3, which allows a retry. Its failure leaves 2, half of them.
	expect(explain(await failure(client.get('/a/b')))).toMatchObject({ stop: 'budget' })
	expect(server.requests).toHaveLength(2)
	expect(explain(await failure(client.get('/a/b')))).toMatchObject({ stop: 'budget' })
	expect(server.requests).toHaveLength(3)
})

test('successes allow retries again', async () => {
	const { client, server } = await configured(failing(503), throttled({ retryPolicy: RETRY }), OFF)
	await failure(client.get('/a/b'))
	server.play(fine)
	// 2 tokens, and 0.5 for each success.
	for (let n = 0; n < 3; n++) await client.get('/a/b').text()
	server.play([failing(503), fine])
	expect(await client.get('/a/b').text()).toBe('fine')
})

test('failures that are not listed do not count', async () => {
	const { client, server } = await configured(failing(400), throttled({ retryPolicy: RETRY }), OFF)
	for (let n = 0; n < 10; n++) await failure(client.get('/a/b'))
	server.play([failing(503), fine])
	expect(await client.get('/a/b').text()).toBe('fine')
})

test('entries share the tokens of their origin, and those without a retry policy add to them', async () => {
	const json = {
		methodConfig: [{ name: [{ service: 'a' }], retryPolicy: RETRY }],
		retryThrottling: { maxTokens: 4, tokenRatio: 1 },
	}
	const { client, server } = await configured(failing(503), json, OFF)
	await failure(client.get('/a/b'))
	server.play(fine)
	await client.get('/other/b').text()
	server.play([failing(503), failing(503)])
	expect(explain(await failure(client.get('/a/b')))).toMatchObject({ stop: 'budget' })
	server.play(fine)
	for (let n = 0; n < 3; n++) await client.get('/other/b').text()
	server.play([failing(503), fine])
	expect(await client.get('/a/b').text()).toBe('fine')
})

test('hedged requests are throttled, and each failed one counts', async () => {
	const hedgingPolicy = { maxAttempts: 5, hedgingDelay: '3600s', nonFatalStatusCodes: ['UNAVAILABLE'] }
	const { client, server, events } = await configured(failing(503), throttled({ hedgingPolicy }), {
		...OFF,
		areWaitsHeld: true,
	})
	expect(await failure(client.get('/a/b'))).toMatchObject({ statusCode: 503 })
	expect(server.requests).toHaveLength(2)
	expect(hedgesIn(events)).toEqual(['sent 1', 'no-budget 2'])
})

const hedgesIn = (events: readonly YaokiEvent[]) =>
	events.filter((event) => event.type === 'hedge').map(({ outcome, hedge }) => `${outcome} ${hedge}`)

test('a request that loses against a hedged one is no failure', async () => {
	const hedgingPolicy = { maxAttempts: 2, hedgingDelay: '0.05s', nonFatalStatusCodes: ['UNAVAILABLE'] }
	const { client, server, clock } = await configured([hang(), fine], throttled({ hedgingPolicy }, 2, 0.001), {
		...OFF,
		areWaitsHeld: true,
	})
	for (let n = 0; n < 4; n++) {
		server.play([hang(), fine])
		const answered = client.get('/a/b').text()
		await server.requested(2 * n + 1)
		await clock.advance(50)
		expect(await answered).toBe('fine')
	}
})

test('the budget of the client applies too', async () => {
	const { client, server } = await configured(failing(503), forAll({ retryPolicy: RETRY }), {
		...OFF,
		budget: { maxRetryRatio: 0, minRetriesPerSecond: 0 },
	})
	expect(explain(await failure(client.get('/a/b')))).toMatchObject({ stop: 'budget' })
	expect(server.requests).toHaveLength(1)
})

test('each client and each origin has tokens of its own', async () => {
	const servers = [await serve(failing(503)), await serve(failing(503))]
	const config = parseServiceConfig(throttled({ retryPolicy: RETRY }))
	const serviceConfig = httpServiceConfig(Object.fromEntries(servers.map(({ origin }) => [origin, config])))
	for (const server of servers)
		for (let n = 1; n <= 2; n++) {
			const { runtime } = virtualTime()
			const fetch = resilientFetch({ serviceConfig, runtime, circuitBreaker: false })
			expect((await fetch(server.url('/a/b'))).status).toBe(503)
			expect(server.requests).toHaveLength(2 * n)
		}
})
