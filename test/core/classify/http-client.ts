/** The tests that the errors of every HTTP client must pass. Differences between clients are data. */
import { describe, expect, test } from 'vitest'
import { type Classification, classify, isRetryableNetworkError } from 'yaoki'
import {
	CANCELLED,
	catchFailure,
	classifyFailure,
	PERMANENT,
	STATUSES,
	TRANSIENT,
	UNKNOWN,
} from './expected.ts'
import {
	closeAfterHeaders,
	closeImmediately,
	closeInHandshake,
	closeMidBody,
	closeMidHeaders,
	closeOnRequest,
	deadPort,
	type Fault,
	faultServer,
	neverResponds,
	resetOnRequest,
	respondWith,
	stallMidBody,
} from './fault-server.ts'

/** Requests a URL and reads the whole response. */
type Get = (url: string, options?: { readonly signal?: AbortSignal }) => unknown

/** No field is optional: a client that does not support something must state it, or tests would be skipped unnoticed. */
interface HttpClient {
	readonly get: Get
	/** The same, with `bothLoopbacks` as the DNS lookup. */
	readonly getByBothLoopbacks: Get
	/** Throws for an error status. `false` if the client returns such responses. */
	readonly getOrThrow: Get | false
	/** Reads the response as JSON. `false` if the client does not parse JSON. */
	readonly getJson: Get | false
	readonly followsRedirects: boolean
	/** `false` for a client that uses HTTP for every scheme. */
	readonly checksSchemes: boolean
	/** Where the AggregateError of several addresses is: thrown, or the cause of the thrown error. */
	readonly aggregateIs: 'the error' | 'its cause'
	/** What an abort with a reason throws. The reason alone is an unknown error. */
	readonly abortThrows: 'an error of its own' | 'the reason'
}

const NETWORK_FAULTS: readonly (readonly [name: string, fault: Fault, url: 'url' | 'tlsUrl'])[] = [
	['a server that closes the connection immediately', closeImmediately, 'url'],
	['a server that closes instead of responding', closeOnRequest, 'url'],
	['a server that resets the connection', resetOnRequest, 'url'],
	['a server that closes during the headers', closeMidHeaders, 'url'],
	['a server that closes after the headers', closeAfterHeaders, 'url'],
	['a server that closes during the body', closeMidBody, 'url'],
	['a TLS handshake that is closed immediately', closeImmediately, 'tlsUrl'],
	['a TLS handshake that is interrupted', closeInHandshake, 'tlsUrl'],
	['a TLS handshake that is reset', resetOnRequest, 'tlsUrl'],
]

const BAD_URLS = [
	['no host', 'http://'],
	['no origin', '/path'],
	['a port out of range', 'http://127.0.0.1:99999'],
] as const

const BAD_SCHEMES = [
	['a scheme that is not HTTP', 'ftp://127.0.0.1'],
	['an unknown scheme', 'foo://127.0.0.1'],
] as const

const ABORTS: readonly (readonly [when: string, abort: () => AbortSignal])[] = [
	['before the request', () => AbortSignal.abort()],
	['during the request', abortSoon],
	['by a timeout', () => AbortSignal.timeout(20)],
]

function abortSoon(): AbortSignal {
	const controller = new AbortController()
	setTimeout(() => controller.abort(), 20)
	return controller.signal
}

export function describeHttpClient(name: string, client: HttpClient): void {
	const { get, getByBothLoopbacks, getOrThrow, getJson } = client

	const expectNetworkFailure = async (url: string) => {
		const error = await catchFailure(() => get(url))
		expect(classify(error)).toEqual(TRANSIENT)
		expect(isRetryableNetworkError(error)).toBe(true)
	}

	/** Aborts before and during the response. `alone` is the classification without the caller's signal. */
	const expectAbort = async (abort: () => AbortSignal, alone: Classification) => {
		await using silent = await faultServer(neverResponds)
		await using stalled = await faultServer(stallMidBody)
		for (const { url } of [silent, stalled]) {
			const signal = abort()
			const error = await catchFailure(() => get(url, { signal }))
			expect(classify(error)).toEqual(alone)
			expect(classify(error, { signal })).toEqual(CANCELLED)
		}
	}

	describe(name, () => {
		test.each(NETWORK_FAULTS)('%s is a transient network failure', async (_, fault, url) => {
			await using server = await faultServer(fault)
			await expectNetworkFailure(server[url])
		})

		test('ECONNREFUSED is a transient network failure', async () => {
			await expectNetworkFailure(`http://127.0.0.1:${await deadPort()}`)
		})

		test('an unknown host is a transient network failure', async () => {
			await expectNetworkFailure('http://nowhere.invalid')
		})

		test('a host without a reachable address is transient', async () => {
			const dead = await deadPort()
			const error = await catchFailure(() => getByBothLoopbacks(`http://localhost:${dead}`))
			const aggregate = client.aggregateIs === 'the error' ? error : Object(error).cause
			expect(aggregate).toBeInstanceOf(AggregateError)
			expect(classify(error)).toEqual(TRANSIENT)
		})

		test.each(ABORTS)('an abort %s is transient, and cancelled if it is the caller’s own', (_, abort) =>
			expectAbort(abort, TRANSIENT),
		)

		test('an abort with a reason is transient, and cancelled if it is the caller’s own', () =>
			expectAbort(
				() => AbortSignal.abort(new Error('enough')),
				client.abortThrows === 'the reason' ? UNKNOWN : TRANSIENT,
			))

		const badUrls = client.checksSchemes ? [...BAD_URLS, ...BAD_SCHEMES] : BAD_URLS
		test.each(badUrls)('a URL with %s is permanent', async (_, url) => {
			expect(await classifyFailure(() => get(url))).toEqual(PERMANENT)
		})

		if (getOrThrow)
			test.each(STATUSES)('status %i is %s', async (status, _, meaning) => {
				await using server = await faultServer(respondWith(status))
				expect(await classifyFailure(() => getOrThrow(server.url))).toEqual(meaning)
			})

		if (client.followsRedirects)
			test('too many redirects and a redirect to another scheme are permanent', async () => {
				await using loop = await faultServer(respondWith(302, '', { location: '/' }))
				await using away = await faultServer(respondWith(302, '', { location: 'ftp://127.0.0.1' }))
				expect(await classifyFailure(() => get(loop.url))).toEqual(PERMANENT)
				expect(await classifyFailure(() => get(away.url))).toEqual(PERMANENT)
			})

		if (getJson)
			test('a response with invalid JSON is permanent', async () => {
				await using server = await faultServer(respondWith(200, '<html>'))
				expect(await classifyFailure(() => getJson(server.url))).toEqual(PERMANENT)
			})
	})
}
