import { Agent, type Dispatcher, interceptors, request } from 'undici-7'
import { afterAll, expect, test } from 'vitest'
import { classify } from 'yaoki'
import {
	answers,
	bothLoopbacks,
	type Fault,
	faultServer,
	neverAnswers,
	stallMidBody,
} from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'
import { failureOf, PERMANENT, TRANSIENT, verdict } from './verdicts.ts'

const plain = new Agent()
const throwing = plain.compose(interceptors.responseError())
const patient = new Agent({ connect: { lookup: bothLoopbacks, autoSelectFamily: true } })
afterAll(() => Promise.all([plain.close(), patient.close()]))

// Node 24's own fetch takes dispatchers of undici 7, which is inside it, and not of 8; its types do not know that these are of the same make.
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
	mindsSchemes: true,
	aggregateIs: 'its cause',
	abortThrows: 'the reason',
})

describeHttpClient('undici', {
	get: viaUndici,
	getByBothLoopbacks: (url) => viaUndici(url, { dispatcher: patient }),
	getOrThrow: (url) => request(url, { dispatcher: throwing }),
	getJson: async (url) => (await request(url, { dispatcher: plain })).body.json(),
	followsRedirects: false,
	mindsSchemes: true,
	aggregateIs: 'the error',
	abortThrows: 'the reason',
})

// Beside each other, for undici looks at its timeouts only about once in a second.
test.concurrent.each<[string, string, Agent.Options, Fault, 'url' | 'tlsUrl']>([
	['UND_ERR_CONNECT_TIMEOUT', 'connection', { connect: { timeout: 20 } }, neverAnswers, 'tlsUrl'],
	['UND_ERR_HEADERS_TIMEOUT', 'header', { headersTimeout: 20 }, neverAnswers, 'url'],
	['UND_ERR_BODY_TIMEOUT', 'body', { bodyTimeout: 20 }, stallMidBody, 'url'],
])('%s, a %s that takes too long, is transient', async (code, _, options, fault, url) => {
	await using server = await faultServer(fault)
	const dispatcher = new Agent(options)
	const failures = [viaFetch, viaUndici].map((get) => failureOf(() => get(server[url], { dispatcher })))
	for (const error of await Promise.all(failures)) {
		expect([Object(error).code, Object(error).cause?.code]).toContain(code)
		expect(classify(error)).toEqual(TRANSIENT)
	}
	await dispatcher.destroy()
})

test('fetch: what its rules forbid is permanent, though it says "fetch failed"', async () => {
	await using loop = await faultServer(answers(302, '', { location: '/' }))
	expect(await verdict(() => fetch('http://127.0.0.1:1'))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { redirect: 'error' }))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { headers: { 'no name': '' } }))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { body: 'of a GET' }))).toEqual(PERMANENT)
})

test('fetch: a body that is read twice is permanent', async () => {
	await using server = await faultServer(answers(200, '<html>'))
	const response = await fetch(server.url)
	await response.text()
	expect(await verdict(() => response.text())).toEqual(PERMANENT)
})
