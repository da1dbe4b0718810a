import { Agent, type Dispatcher, interceptors, request } from 'undici-7'
import { afterAll, expect, test } from 'vitest'
import { classify } from 'yaoki'
import { catchFailure, classifyFailure, PERMANENT, TRANSIENT } from './expected.ts'
import {
	bothLoopbacks,
	type Fault,
	faultServer,
	neverResponds,
	respondWith,
	stallMidBody,
} from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'

const plain = new Agent()
const throwing = plain.compose(interceptors.responseError())
const patient = new Agent({ connect: { lookup: bothLoopbacks, autoSelectFamily: true } })
afterAll(() => Promise.all([plain.close(), patient.close()]))

// Node 24's fetch contains undici 7 and accepts its dispatchers, not those of undici 8; the types do not know that.
const viaFetch = async (url: string, init: RequestInit & { dispatcher?: Dispatcher } = {}) =>
	(await fetch(url, init as RequestInit)).text()
const viaUndici = async (url: string, options: { signal?: AbortSignal; dispatcher?: Dispatcher } = {}) =>
	(await request(url, { dispatcher: plain, ...options })).body.text()

describeHttpClient('fetch', {
	get: viaFetch,
	getByBothLoopbacks: (url) => viaFetch(url, { dispatcher: patient }),
	getOrThrow: false,
	getJson: async (url) => (await fetch(url)).json(),
	followsRedirects: true,
	checksSchemes: true,
	aggregateIs: 'its cause',
	abortThrows: 'the reason',
})

describeHttpClient('undici', {
	get: viaUndici,
	getByBothLoopbacks: (url) => viaUndici(url, { dispatcher: patient }),
	getOrThrow: (url) => request(url, { dispatcher: throwing }),
	getJson: async (url) => (await request(url, { dispatcher: plain })).body.json(),
	followsRedirects: false,
	checksSchemes: true,
	aggregateIs: 'the error',
	abortThrows: 'the reason',
})

// Concurrently, because undici checks its timeouts only about once per second.
test.concurrent.each<[string, string, Agent.Options, Fault, 'url' | 'tlsUrl']>([
	['UND_ERR_CONNECT_TIMEOUT', 'connection', { connect: { timeout: 20 } }, neverResponds, 'tlsUrl'],
	['UND_ERR_HEADERS_TIMEOUT', 'header', { headersTimeout: 20 }, neverResponds, 'url'],
	['UND_ERR_BODY_TIMEOUT', 'body', { bodyTimeout: 20 }, stallMidBody, 'url'],
])('%s, a timeout of the %s, is transient', async (code, _, options, fault, url) => {
	await using server = await faultServer(fault)
	const dispatcher = new Agent(options)
	const failures = [viaFetch, viaUndici].map((get) => catchFailure(() => get(server[url], { dispatcher })))
	for (const error of await Promise.all(failures)) {
		expect([Object(error).code, Object(error).cause?.code]).toContain(code)
		expect(classify(error)).toEqual(TRANSIENT)
	}
	await dispatcher.destroy()
})

test('fetch: a forbidden request is permanent, although the message is "fetch failed"', async () => {
	await using loop = await faultServer(respondWith(302, '', { location: '/' }))
	expect(await classifyFailure(() => fetch('http://127.0.0.1:1'))).toEqual(PERMANENT)
	expect(await classifyFailure(() => fetch(loop.url, { redirect: 'error' }))).toEqual(PERMANENT)
	expect(await classifyFailure(() => fetch(loop.url, { headers: { 'no name': '' } }))).toEqual(PERMANENT)
	expect(await classifyFailure(() => fetch(loop.url, { body: 'of a GET' }))).toEqual(PERMANENT)
})

test('fetch: reading a body twice is permanent', async () => {
	await using server = await faultServer(respondWith(200, '<html>'))
	const response = await fetch(server.url)
	await response.text()
	expect(await classifyFailure(() => response.text())).toEqual(PERMANENT)
})
