/** Trace context and metrics of real requests. */
import { createServer } from 'node:http'
import * as otel from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { observe, openTelemetry } from 'yaoki/telemetry'
import { listen } from '../../support/listen.ts'
import { idOf, parentOf, type Sdk, startSdk } from './sdk.ts'

let sdk: Sdk
beforeEach(() => {
	sdk = startSdk()
})
afterEach(() => sdk.stop())

/** Answers with the given statuses in turn, then with the last one. Keeps the `traceparent` of each request. */
async function serve(...statuses: readonly number[]) {
	const parents: string[] = []
	const server = createServer((request, response) => {
		response.statusCode = statuses[parents.length] ?? statuses.at(-1) ?? 200
		parents.push(request.headers['traceparent'] as string)
		response.end('{}')
	})
	const port = await listen(server)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return { url: `http://127.0.0.1:${port}/`, port, parents }
}

const FAST = { baseDelayMs: 1, maxDelayMs: 1, maxRetries: 1 }

test('each request carries the span of its own attempt', async () => {
	const { url, parents } = await serve(503, 200)
	const client = new ResilientHttpClient(FAST)
	onTestFinished(observe({ client }, [openTelemetry(otel)]))
	await client.get(url).json()
	const attempts = sdk.spans().filter(({ name }) => name === 'GET')
	expect(parents.map((parent) => parent.split('-')[2])).toEqual(attempts.map(idOf))
})

test('hedged requests have a span each', async () => {
	const { url, parents } = await serve(200)
	let count = 0
	const release = Promise.withResolvers<void>()
	const client = resilientFetch({
		...FAST,
		hedge: { delayMs: 0 },
		fetch: async (input, init) => {
			// The first request is sent after the second one has been answered.
			if (count++ === 0) await release.promise
			const response = await fetch(input, init)
			release.resolve()
			return response
		},
	})
	onTestFinished(observe({ client }, [openTelemetry(otel)]))
	await (await client(url)).arrayBuffer()
	const call = sdk.spans().find(({ kind }) => kind === otel.SpanKind.INTERNAL)
	expect(call?.attributes['yaoki.attempts']).toBe(2)
	const won = sdk.spans().find(({ attributes }) => attributes['http.response.status_code'] === 200)
	expect(won && parentOf(won)).toBe(call && idOf(call))
	expect(won?.attributes['http.request.resend_count']).toBe(1)
	expect(won?.attributes['yaoki.hedge.number']).toBe(1)
	expect(parents[0]).toContain(won && idOf(won))
})

test('a request that is not sampled has a context that says so', async () => {
	await sdk.stop()
	sdk = startSdk({ sampler: new AlwaysOffSampler() })
	const { url, parents } = await serve(200)
	const client = resilientFetch()
	onTestFinished(observe({ client }, [openTelemetry(otel)]))
	await (await client(url)).arrayBuffer()
	expect(parents[0]).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/)
	expect(sdk.spans()).toEqual([])
})

test('requests are measured by status, calls by outcome', async () => {
	const { url, port } = await serve(503)
	const client = resilientFetch(FAST)
	onTestFinished(observe({ client }, [openTelemetry(otel)]))
	await client(url).then(
		(response) => response.arrayBuffer(),
		() => undefined,
	)
	expect(await sdk.points('http.client.request.duration')).toMatchObject([
		{
			attributes: {
				'http.request.method': 'GET',
				'server.address': '127.0.0.1',
				'server.port': port,
				'http.response.status_code': 503,
				'error.type': '503',
			},
			value: { count: 2 },
		},
	])
	expect(await sdk.points('yaoki.call.duration')).toMatchObject([
		{ attributes: { 'yaoki.service': `127.0.0.1:${port}`, 'yaoki.outcome': 'failure' }, value: { count: 1 } },
	])
	expect(await sdk.points('yaoki.retries')).toMatchObject([{ value: 1 }])
	expect(await sdk.points('circuit_breaker.state')).toMatchObject([{ value: 0 }])
})

test('a request with circuitBreakerKey has the address of its server (regression: it was unknown)', async () => {
	const { url, port } = await serve(200)
	const client = new ResilientHttpClient({ ...FAST, circuitBreakerKey: () => 'users' })
	onTestFinished(observe({ client }, [openTelemetry(otel)]))
	await client.get(url).json()
	expect(sdk.span('GET').attributes).toMatchObject({ 'server.address': '127.0.0.1', 'server.port': port })
})
