import { got, type OptionsOfTextResponseBody } from 'got'
import { expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import {
	answers,
	bothLoopbacks,
	closeAfterHeaders,
	closeAtOnce,
	closeMidBody,
	closeMidHeaders,
	cutHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
	stallMidBody,
} from './fault-server.ts'
import { CANCELLED, failureOf, PERMANENT, STATUSES, TRANSIENT, verdict } from './verdicts.ts'

const get = (url: string, options: OptionsOfTextResponseBody = {}) =>
	got(url, { retry: { limit: 0 }, ...options }).text()

test.each<[string, Fault]>([
	['closes the connection at once', closeAtOnce],
	['resets the connection', resetOnRequest],
	['closes amid the headers', closeMidHeaders],
	['closes after the headers', closeAfterHeaders],
	['closes amid the body', closeMidBody],
])('a server that %s is a transient failure of the network', async (_, fault) => {
	await using server = await faultServer(fault)
	const error = await failureOf(() => get(server.url))
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})

test('a refused connection, an unknown host, a cut TLS handshake are transient', async () => {
	await using server = await faultServer(cutHandshake)
	const dead = await deadPort()
	expect(await verdict(() => get(`http://127.0.0.1:${dead}`))).toEqual(TRANSIENT)
	expect(await verdict(() => get('http://nowhere.invalid'))).toEqual(TRANSIENT)
	expect(await verdict(() => get(server.tlsUrl))).toEqual(TRANSIENT)
})

test('a host none of whose addresses answers is transient', async () => {
	const dead = await deadPort()
	const error = await failureOf(() => get(`http://localhost:${dead}`, { dnsLookup: bothLoopbacks }))
	expect(error).toHaveProperty('cause', expect.any(AggregateError))
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each(STATUSES)('status %i is %s', async (status, _, meaning) => {
	await using server = await faultServer(answers(status))
	expect(await verdict(() => get(server.url))).toEqual(meaning)
})

test('the URL in a message does not change what a status means', async () => {
	await using server = await faultServer(answers(404))
	const error = await failureOf(() => get(`${server.url}/throttled/pool/full?code=ECONNRESET`))
	expect(error).toHaveProperty('message', expect.stringContaining('ECONNRESET'))
	expect(classify(error)).toEqual(PERMANENT)
})

test.each<[string, Fault, 'url' | 'tlsUrl']>([
	['lookup', neverAnswers, 'url'],
	['secureConnect', neverAnswers, 'tlsUrl'],
	['socket', neverAnswers, 'url'],
	['response', neverAnswers, 'url'],
	['request', neverAnswers, 'url'],
	['read', stallMidBody, 'url'],
])('a %s timeout is transient', async (phase, fault, url) => {
	await using server = await faultServer(fault)
	const address = phase === 'lookup' ? 'http://nowhere.invalid' : server[url]
	const error = await failureOf(() => get(address, { timeout: { [phase]: 20 }, dnsLookup: () => {} }))
	expect(error).toHaveProperty('event', phase)
	expect(classify(error)).toEqual(TRANSIENT)
})

test('an abort is transient, and cancelled when it is the caller’s own', async () => {
	await using silent = await faultServer(neverAnswers)
	await using stalled = await faultServer(stallMidBody)
	for (const { url } of [silent, stalled])
		for (const signal of [AbortSignal.abort(), AbortSignal.timeout(20)]) {
			const error = await failureOf(() => get(url, { signal }))
			expect(classify(error)).toEqual(TRANSIENT)
			expect(classify(error, { signal })).toEqual(CANCELLED)
		}
})

test.each([
	['no host', 'http://'],
	['no origin', '/path'],
	['a scheme that is not HTTP', 'ftp://127.0.0.1'],
	['a scheme that nobody knows', 'foo://127.0.0.1'],
])('a URL with %s is permanent', async (_, url) => {
	expect(await verdict(() => get(url))).toEqual(PERMANENT)
})

test('too many redirects, and one to a scheme that is not HTTP, are permanent', async () => {
	await using loop = await faultServer(answers(302, '', { location: '/' }))
	await using away = await faultServer(answers(302, '', { location: 'ftp://127.0.0.1' }))
	expect(await verdict(() => get(loop.url))).toEqual(PERMANENT)
	expect(await verdict(() => get(away.url))).toEqual(PERMANENT)
})

test('an answer that is not the JSON it should be is permanent', async () => {
	await using server = await faultServer(answers(200, '<html>'))
	expect(await verdict(() => got(server.url, { retry: { limit: 0 } }).json())).toEqual(PERMANENT)
})
