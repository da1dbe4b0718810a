import { constants } from 'node:http2'
import { Agent } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { explain } from 'yaoki'
import { isUnprocessed } from '../../../src/http/request/retry-safety.ts'
import {
	answerStream,
	cutSession,
	goAway,
	type Http2Step,
	refuseStream,
	resetStream,
	startHttp2Server,
} from '../faults/http2-server.ts'
import { failure, SENDERS } from './setup.ts'

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL } = constants
const OK = answerStream({ body: 'fine' })

describe.each(SENDERS)('over $name', ({ fetching, networkError }) => {
	/** A sender over undici 8 with HTTP/2, and its server. */
	async function overHttp2(...script: readonly [Http2Step, ...Http2Step[]]) {
		const server = await startHttp2Server(script)
		const dispatcher = new Agent({ allowH2: true, connect: { ca: server.ca } })
		onTestFinished(async () => {
			await dispatcher.destroy()
			await server.close()
		})
		const { fetch, time } = fetching({ dispatcher })
		const post = (body: BodyInit = 'an order') =>
			fetch(server.url(), { method: 'POST', body, duplex: 'half' } as RequestInit)
		return { server, fetch, post, time }
	}

	describe('a POST over HTTP/2', () => {
		test.each([
			['refused as a stream', refuseStream()],
			['above the last stream of a GOAWAY in good form', goAway({ covers: false })],
		])('a POST over HTTP/2 that was certainly not processed is sent again: %s', async (_, step) => {
			const { server, post } = await overHttp2(step, OK)
			const response = await post()
			expect([response.status, await response.text()]).toEqual([200, 'fine'])
			expect(explain(response)?.attempts).toMatchObject([{ outcome: 'transient' }, { outcome: 'success' }])
			expect(server.requests).toHaveLength(2)
			expect(server.requests[1]).toMatchObject({ method: 'POST', body: 'an order' })
		})

		test("a POST over HTTP/2 that is always refused fails with the server's error", async () => {
			const { post, server } = await overHttp2(refuseStream())
			const error = await failure(post())
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			expect(server.requests).toHaveLength(3)
			expect(networkError(error)).toHaveProperty('message', expect.stringContaining('REFUSED_STREAM'))
		})

		test.each([
			['the stream was reset by an error', resetStream(NGHTTP2_INTERNAL_ERROR)],
			['the stream was cancelled', resetStream(NGHTTP2_CANCEL)],
			['a GOAWAY covers it, and the connection is closed', goAway({ covers: true, next: 'fin' })],
			['a failing GOAWAY covers it', goAway({ covers: true, code: NGHTTP2_INTERNAL_ERROR })],
			['the connection is closed', cutSession('fin')],
			['the connection is reset', cutSession('reset')],
		])('a POST over HTTP/2 that may have been processed is sent once: %s', async (_, step) => {
			const { server, post } = await overHttp2(step, OK)
			expect(explain(await failure(post()))?.stop).toBe('not-idempotent')
			expect(server.requests).toHaveLength(1)
		})

		/** A body whose end does not come. */
		const half = () =>
			new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('half an order')) })

		// undici 8 does not always notice these: its own fetch, without this package, then never settles.
		test.each([
			['the connection is closed in the middle of its body', cutSession('fin', { afterHead: true }), half],
			['the connection is reset in the middle of its body', cutSession('reset', { afterHead: true }), half],
			[
				'a GOAWAY covers it, and the connection is reset',
				goAway({ covers: true, next: 'reset' }),
				() => 'an order',
			],
		])('is sent once and fails, at the timeout at the latest: %s', async (_, step, body) => {
			const { server, post, time } = await overHttp2(step, OK)
			const failed = failure(post(body()))
			await server.requested(1)
			await server.allClosed()
			await time.advance(30_000)
			expect(explain(await failed)?.attempts).toHaveLength(1)
			expect(server.requests).toHaveLength(1)
		})

		test('a POST over HTTP/2 that a GOAWAY covers receives its response, if it still arrives', async () => {
			const { server, post } = await overHttp2(goAway({ covers: true, next: 'answer' }))
			expect(await (await post()).text()).toBe('the last one')
			expect(server.requests).toHaveLength(1)
		})

		test('a POST over HTTP/2 with a key is sent again after each of these', async () => {
			const { server, fetch } = await overHttp2(resetStream(NGHTTP2_INTERNAL_ERROR), cutSession('fin'), OK)
			const headers = { 'idempotency-key': 'mine' }
			const response = await fetch(server.url(), { method: 'POST', body: 'an order', headers })
			expect(await response.text()).toBe('fine')
			expect(server.requests.map((request) => request.headers['idempotency-key'])).toEqual([
				'mine',
				'mine',
				'mine',
			])
		})
	})

	test('a GET over HTTP/2 is retried after any stream error', async () => {
		const { server, fetch } = await overHttp2(resetStream(NGHTTP2_CANCEL), cutSession('reset'), OK)
		expect(await (await fetch(server.url())).text()).toBe('fine')
	})
})

describe('a GOAWAY', () => {
	const message = 'HTTP/2: "GOAWAY" frame received with code 0'
	const goneAway = (own: object) =>
		new TypeError('fetch failed', { cause: Object.assign(new Error(message), own) })
	const mark = (code: string) => ({ code, [Symbol.for(`undici.error.${code}`)]: true })

	test('a GOAWAY of undici 8 proves that the request was not processed', () => {
		expect(isUnprocessed(goneAway(mark('UND_ERR_INFO')))).toBe(true)
	})

	test.each([
		['undici 7, which says so of streams that were processed, too', mark('UND_ERR_SOCKET')],
		['early versions of undici, likewise, whose errors bear no mark', { code: 'UND_ERR_INFO' }],
	])('a GOAWAY of %s proves nothing', (_, own) => {
		expect(isUnprocessed(goneAway(own))).toBe(false)
	})
})
