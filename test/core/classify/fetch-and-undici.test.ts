import { Agent, type Dispatcher, interceptors, request } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import {
	answers,
	bothLoopbacks,
	closeAfterHeaders,
	closeAtOnce,
	closeMidBody,
	closeMidHeaders,
	closeOnRequest,
	cutHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
	stallMidBody,
} from './fault-server.ts'
import { CANCELLED, failureOf, PERMANENT, STATUSES, TRANSIENT, verdict } from './verdicts.ts'

const patient = new Agent({ connect: { lookup: bothLoopbacks, autoSelectFamily: true } })
const throwing = patient.compose(interceptors.responseError())
afterAll(() => patient.close())

// Node's own fetch takes undici's dispatchers; its types do not know that these are of the same make.
const viaFetch = async (url: string, init: RequestInit & { dispatcher?: Dispatcher } = {}) =>
	(await fetch(url, init as RequestInit)).text()
const viaUndici = async (url: string, options: { signal?: AbortSignal; dispatcher?: Dispatcher } = {}) =>
	(await request(url, { dispatcher: patient, ...options })).body.text()

const clients = [
	['fetch', viaFetch],
	['undici', viaUndici],
] as const

test.each<[string, Fault]>([
	['closes the connection at once', closeAtOnce],
	['closes instead of answering', closeOnRequest],
	['resets the connection', resetOnRequest],
	['closes amid the headers', closeMidHeaders],
	['closes after the headers', closeAfterHeaders],
	['closes amid the body', closeMidBody],
])('a server that %s is a transient failure of the network', async (_, fault) => {
	await using server = await faultServer(fault)
	for (const [, get] of clients) {
		const error = await failureOf(() => get(server.url))
		expect(classify(error)).toEqual(TRANSIENT)
		expect(isRetryableNetworkError(error)).toBe(true)
	}
})

test.each(clients)(
	'%s: a refused connection, an unknown host, a cut TLS handshake are transient',
	async (_, get) => {
		await using server = await faultServer(cutHandshake)
		const dead = await deadPort()
		expect(await verdict(() => get(`http://127.0.0.1:${dead}`))).toEqual(TRANSIENT)
		expect(await verdict(() => get('http://nowhere.invalid'))).toEqual(TRANSIENT)
		expect(await verdict(() => get(server.tlsUrl))).toEqual(TRANSIENT)
	},
)

test.each(clients)('%s: a host none of whose addresses answers is transient', async (_, get) => {
	const dead = await deadPort()
	const error = await failureOf(() => get(`http://localhost:${dead}`, { dispatcher: patient }))
	expect([error, Object(error).cause]).toContainEqual(expect.any(AggregateError))
	expect(classify(error)).toEqual(TRANSIENT)
})

// Beside each other, for undici looks at its timeouts only about once in a second.
test.concurrent.each<[string, string, Agent.Options, Fault, 'url' | 'tlsUrl']>([
	['UND_ERR_CONNECT_TIMEOUT', 'connection', { connect: { timeout: 20 } }, neverAnswers, 'tlsUrl'],
	['UND_ERR_HEADERS_TIMEOUT', 'header', { headersTimeout: 20 }, neverAnswers, 'url'],
	['UND_ERR_BODY_TIMEOUT', 'body', { bodyTimeout: 20 }, stallMidBody, 'url'],
])('%s, a %s that takes too long, is transient', async (code, _, options, fault, url) => {
	await using server = await faultServer(fault)
	const dispatcher = new Agent(options)
	const failures = clients.map(([, get]) => failureOf(() => get(server[url], { dispatcher })))
	for (const error of await Promise.all(failures)) {
		expect([Object(error).code, Object(error).cause?.code]).toContain(code)
		expect(classify(error)).toEqual(TRANSIENT)
	}
	await dispatcher.destroy()
})

test.each(clients)('%s: an abort is transient, and cancelled when it is the caller’s own', async (_, get) => {
	await using silent = await faultServer(neverAnswers)
	await using stalled = await faultServer(stallMidBody)
	for (const { url } of [silent, stalled]) {
		const controller = new AbortController()
		const stop = setTimeout(() => controller.abort(), 20)
		for (const signal of [AbortSignal.abort(), controller.signal, AbortSignal.timeout(20)]) {
			const error = await failureOf(() => get(url, { signal }))
			expect(classify(error)).toEqual(TRANSIENT)
			expect(classify(error, { signal })).toEqual(CANCELLED)
		}
		clearTimeout(stop)
	}
})

test.each([
	['no host', 'http://'],
	['no origin', '/path'],
	['a port out of range', 'http://127.0.0.1:99999'],
	['a scheme that is not HTTP', 'ftp://127.0.0.1'],
	['a scheme that nobody knows', 'foo://127.0.0.1'],
])('a URL with %s is permanent', async (_, url) => {
	for (const [, get] of clients) expect(await verdict(() => get(url))).toEqual(PERMANENT)
})

test('fetch: what its rules forbid is permanent, though it says "fetch failed"', async () => {
	await using loop = await faultServer(answers(302, '', { location: '/' }))
	await using away = await faultServer(answers(302, '', { location: 'ftp://127.0.0.1' }))
	expect(await verdict(() => fetch('http://127.0.0.1:1'))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { redirect: 'error' }))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(away.url))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { headers: { 'no name': '' } }))).toEqual(PERMANENT)
	expect(await verdict(() => fetch(loop.url, { body: 'of a GET' }))).toEqual(PERMANENT)
})

test('fetch: a body that is read twice, or is not the JSON it should be, is permanent', async () => {
	await using server = await faultServer(answers(200, '<html>'))
	const response = await fetch(server.url)
	await response.text()
	expect(await verdict(() => response.text())).toEqual(PERMANENT)
	expect(await verdict(async () => (await fetch(server.url)).json())).toEqual(PERMANENT)
})

test.each(STATUSES)('undici: status %i is %s', async (status, _, meaning) => {
	await using server = await faultServer(answers(status))
	expect(await verdict(() => request(server.url, { dispatcher: throwing }))).toEqual(meaning)
})
