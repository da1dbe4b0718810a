import { Agent } from 'node:http'
import axios, { type AxiosRequestConfig } from 'axios'
import { describe, expect, test } from 'vitest'
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

describe.each(['http', 'fetch'] as const)('axios with its %s adapter', (adapter) => {
	const get = (url: string, config: AxiosRequestConfig = {}) => axios.get(url, { adapter, ...config })

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

	test.each(STATUSES)('status %i is %s', async (status, _, meaning) => {
		await using server = await faultServer(answers(status))
		expect(await verdict(() => get(server.url))).toEqual(meaning)
	})

	test('a timeout is transient, by whichever code it is told', async () => {
		await using server = await faultServer(neverAnswers)
		expect(await verdict(() => get(server.url, { timeout: 20 }))).toEqual(TRANSIENT)
		const transitional = { clarifyTimeoutError: true }
		expect(await verdict(() => get(server.url, { timeout: 20, transitional }))).toEqual(TRANSIENT)
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
		const config = { responseType: 'json', transitional: { silentJSONParsing: false } } as const
		expect(await verdict(() => get(server.url, config))).toEqual(PERMANENT)
	})
})

test('a host none of whose addresses answers is transient', async () => {
	const httpAgent = new Agent({ lookup: bothLoopbacks })
	const dead = await deadPort()
	const error = await failureOf(() => axios.get(`http://localhost:${dead}`, { httpAgent }))
	expect(error).toHaveProperty('cause', expect.any(AggregateError))
	expect(classify(error)).toEqual(TRANSIENT)
})
