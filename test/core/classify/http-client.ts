/** What yaoki promises of every HTTP client's errors. How a client differs from the others is told as data. */
import { describe, expect, test } from 'vitest'
import { type Classification, classify, isRetryableNetworkError } from 'yaoki'
import {
	answers,
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
import { CANCELLED, failureOf, PERMANENT, STATUSES, TRANSIENT, UNKNOWN, verdict } from './verdicts.ts'

/** Asks for a URL and reads the answer to its end. */
type Get = (url: string, options?: { readonly signal?: AbortSignal }) => unknown

/** Nothing is optional: a client that can not do something has to say so, or its promises would go unseen. */
interface HttpClient {
	readonly get: Get
	/** The same, with `bothLoopbacks` to look hosts up. */
	readonly getByBothLoopbacks: Get
	/** Throws on a status that is no success. `false` where a status is an answer like any other. */
	readonly getOrThrow: Get | false
	/** Reads the answer as JSON. `false` where that is left to the user. */
	readonly getJson: Get | false
	readonly followsRedirects: boolean
	/** `false` for a client that speaks HTTP to whatever scheme it is given. */
	readonly mindsSchemes: boolean
	/** Where the failures of several addresses are: an AggregateError that is thrown, or that is the thrown one's cause. */
	readonly aggregateIs: 'the error' | 'its cause'
	/** What an abort with a reason throws. The reason says nothing of itself, so alone it is not known. */
	readonly abortThrows: 'an error of its own' | 'the reason'
}

const NETWORK_FAULTS: readonly (readonly [promise: string, fault: Fault, url: 'url' | 'tlsUrl'])[] = [
	['a server that closes the connection at once', closeAtOnce, 'url'],
	['a server that closes instead of answering', closeOnRequest, 'url'],
	['a server that resets the connection', resetOnRequest, 'url'],
	['a server that closes amid the headers', closeMidHeaders, 'url'],
	['a server that closes after the headers', closeAfterHeaders, 'url'],
	['a server that closes amid the body', closeMidBody, 'url'],
	['a TLS handshake that is closed at once', closeAtOnce, 'tlsUrl'],
	['a TLS handshake that is cut off', cutHandshake, 'tlsUrl'],
	['a TLS handshake that is reset', resetOnRequest, 'tlsUrl'],
]

const BAD_URLS = [
	['no host', 'http://'],
	['no origin', '/path'],
	['a port out of range', 'http://127.0.0.1:99999'],
] as const

const BAD_SCHEMES = [
	['a scheme that is not HTTP', 'ftp://127.0.0.1'],
	['a scheme that nobody knows', 'foo://127.0.0.1'],
] as const

const ABORTS: readonly (readonly [when: string, abort: () => AbortSignal])[] = [
	['before the request', () => AbortSignal.abort()],
	['amid the request', abortSoon],
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
		const error = await failureOf(() => get(url))
		expect(classify(error)).toEqual(TRANSIENT)
		expect(isRetryableNetworkError(error)).toBe(true)
	}

	/** Aborts before there is an answer and amid it. `alone` is what the error means to one who has not the signal. */
	const expectAbort = async (abort: () => AbortSignal, alone: Classification) => {
		await using silent = await faultServer(neverAnswers)
		await using stalled = await faultServer(stallMidBody)
		for (const { url } of [silent, stalled]) {
			const signal = abort()
			const error = await failureOf(() => get(url, { signal }))
			expect(classify(error)).toEqual(alone)
			expect(classify(error, { signal })).toEqual(CANCELLED)
		}
	}

	describe(name, () => {
		test.each(NETWORK_FAULTS)('%s is a transient failure of the network', async (_, fault, url) => {
			await using server = await faultServer(fault)
			await expectNetworkFailure(server[url])
		})

		test('a refused connection is a transient failure of the network', async () => {
			await expectNetworkFailure(`http://127.0.0.1:${await deadPort()}`)
		})

		test('a host that DNS does not know is a transient failure of the network', async () => {
			await expectNetworkFailure('http://nowhere.invalid')
		})

		test('a host none of whose addresses answers is transient', async () => {
			const dead = await deadPort()
			const error = await failureOf(() => getByBothLoopbacks(`http://localhost:${dead}`))
			const told = client.aggregateIs === 'the error' ? error : Object(error).cause
			expect(told).toBeInstanceOf(AggregateError)
			expect(classify(error)).toEqual(TRANSIENT)
		})

		test.each(ABORTS)('an abort %s is transient, and cancelled when it is the caller’s own', (_, abort) =>
			expectAbort(abort, TRANSIENT),
		)

		test('an abort for a reason is transient, and cancelled when it is the caller’s own', () =>
			expectAbort(
				() => AbortSignal.abort(new Error('enough')),
				client.abortThrows === 'the reason' ? UNKNOWN : TRANSIENT,
			))

		const badUrls = client.mindsSchemes ? [...BAD_URLS, ...BAD_SCHEMES] : BAD_URLS
		test.each(badUrls)('a URL with %s is permanent', async (_, url) => {
			expect(await verdict(() => get(url))).toEqual(PERMANENT)
		})

		if (getOrThrow)
			test.each(STATUSES)('status %i is %s', async (status, _, meaning) => {
				await using server = await faultServer(answers(status))
				expect(await verdict(() => getOrThrow(server.url))).toEqual(meaning)
			})

		if (client.followsRedirects)
			test('too many redirects, and one to a scheme that is not HTTP, are permanent', async () => {
				await using loop = await faultServer(answers(302, '', { location: '/' }))
				await using away = await faultServer(answers(302, '', { location: 'ftp://127.0.0.1' }))
				expect(await verdict(() => get(loop.url))).toEqual(PERMANENT)
				expect(await verdict(() => get(away.url))).toEqual(PERMANENT)
			})

		if (getJson)
			test('an answer that is not the JSON it should be is permanent', async () => {
				await using server = await faultServer(answers(200, '<html>'))
				expect(await verdict(() => getJson(server.url))).toEqual(PERMANENT)
			})
	})
}
