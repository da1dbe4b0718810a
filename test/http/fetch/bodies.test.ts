import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { RequestBody } from '../../../src/http/transport/request.ts'
import { fin, reset } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import { BUSY, FINE, failure, SENDERS } from './setup.ts'

const TEXT = 'ein Auftrag über 7 €\n'
const BYTES = new TextEncoder().encode(TEXT)

function form(): FormData {
	const data = new FormData()
	data.append('name', 'Grüße')
	data.append('file', new Blob([TEXT], { type: 'text/plain' }), 'order.txt')
	return data
}

/** Bodies that can be sent any number of times. */
const REPLAYED: Readonly<Record<string, () => RequestBody>> = {
	'a string': () => TEXT,
	'an empty string': () => '',
	'a Buffer': () => Buffer.from(TEXT),
	'a view of a part of a buffer': () => new Uint8Array([0, ...BYTES, 0]).subarray(1, -1),
	'a DataView': () => new DataView(BYTES.buffer),
	'an ArrayBuffer': () => BYTES.buffer,
	'a Blob': () => new Blob([TEXT], { type: 'text/plain' }),
	'a FormData': form,
	URLSearchParams: () => new URLSearchParams({ name: 'Grüße', n: '7' }),
	'a function': () => () => TEXT,
	'a function with a promise': () => async () => BYTES,
	'a function of streams': () => () => new Blob([TEXT]).stream(),
	'a function of generators': () =>
		async function* () {
			yield BYTES.slice(0, 5)
			yield BYTES.slice(5)
		},
	'a function of Node streams': () => () => Readable.from([BYTES]),
}

/** The received body without the random boundary of forms. */
function arrived({ body, headers }: SeenRequest): object {
	const type = headers['content-type'] ?? ''
	const boundary = /boundary=(\S+)/.exec(type)?.[1]
	const plain = (text: string) => (boundary === undefined ? text : text.replaceAll(boundary, '-boundary-'))
	const given = headers['content-length']
	const isWhole = given === String(Buffer.byteLength(body))
	return { body: plain(body), type: plain(type), length: isWhole ? 'that of the body' : given }
}

describe.each(SENDERS)('over $name', ({ networkError, setup }) => {
	describe.each(Object.entries(REPLAYED))('a body that is %s', (_, make) => {
		test('is sent again as it was the first time', async () => {
			const { fetch, url, server } = await setup([BUSY, reset('body'), FINE])
			expect((await fetch(url, { method: 'PUT', body: make() })).ok).toBe(true)
			const { fetch: second, url: there, server: other } = await setup([BUSY, fin('request-head'), FINE])
			await second(there, { method: 'PUT', body: make() })
			const [first, ...repeats] = [server.requests[0], server.requests[1], other.requests[2]].map(
				(request) => request && arrived(request),
			)
			expect(repeats).toEqual([first, first])
			expect(first).toHaveProperty('body')
		})

		test('arrives as with fetch itself', async () => {
			const { fetch, url, server } = await setup([FINE])
			const body = make()
			const bare = typeof body === 'function' ? await body() : body
			const duplex = { duplex: 'half' }
			await globalThis.fetch(url, { method: 'POST', body: bare, ...duplex } as RequestInit)
			await fetch(url, { method: 'POST', body: make() })
			const [byFetch, byOurs] = server.requests.map(arrived)
			expect(byOurs).toEqual(byFetch)
		})
	})

	describe('a body that is a function', () => {
		test('is called once for each attempt', async () => {
			const { fetch, url, server } = await setup([BUSY, BUSY, FINE])
			let calls = 0
			await fetch(url, { method: 'PUT', body: () => `copy ${++calls}` })
			expect(server.requests.map(({ body }) => body)).toEqual(['copy 1', 'copy 2', 'copy 3'])
		})

		test('is not called if the request is not retried', async () => {
			const { fetch, url } = await setup(BUSY)
			let calls = 0
			await fetch(url, { method: 'POST', body: () => `copy ${++calls}` })
			expect(calls).toBe(1)
		})

		test.each([
			['throws', () => () => failing()],
			['rejects', () => async () => failing()],
		])('fails the request with its error if it %s, and nothing is sent', async (_, make) => {
			const { fetch, url, server } = await setup(FINE, { maxRetries: 0 })
			expect(await failure(fetch(url, { method: 'POST', body: make() }))).toBe(GONE)
			expect(server.connections.opened).toBe(0)
		})

		// Regression: a file that could not be opened was retried twenty times and opened the circuit of a server that was never called.
		test('is called once if it fails, and does not count for the breaker', async () => {
			const { fetch, url, server } = await setup(FINE, { circuitBreaker: { failureThreshold: 1 } })
			let calls = 0
			const body = () => {
				calls++
				return failing()
			}
			const error = await failure(fetch(url, { method: 'PUT', body }))
			expect([calls, server.requests.length, explain(error)?.stop]).toEqual([1, 0, 'permanent'])
			expect((await fetch(url)).status).toBe(200)
		})

		test('is called once if it fails permanently', async () => {
			const { fetch, url } = await setup(FINE)
			let calls = 0
			const body = () => {
				calls++
				throw new RangeError('no such page')
			}
			expect((await failure(fetch(url, { method: 'PUT', body }))).message).toBe('no such page')
			expect(calls).toBe(1)
		})

		test('sends nothing if it returns after the abort', async () => {
			const { fetch, url, server } = await setup(FINE)
			const controller = new AbortController()
			const reason = new Error('changed my mind')
			const body = async () => {
				controller.abort(reason)
				return TEXT
			}
			expect(await failure(fetch(url, { method: 'PUT', body, signal: controller.signal }))).toBe(reason)
			expect(server.requests).toEqual([])
		})
	})

	const GONE = new Error('the file is gone')
	function failing(): never {
		throw GONE
	}

	const STREAMS: Readonly<Record<string, () => RequestBody>> = {
		'a ReadableStream': () => new Blob([TEXT]).stream(),
		'a generator': () => REPLAYED['a function of generators']?.() as RequestBody,
		'a Node stream': () => Readable.from([BYTES]),
	}
	const once = (make: () => RequestBody) => {
		const body = make()
		return typeof body === 'function' ? body() : body
	}

	describe.each(Object.entries(STREAMS))('a body that is %s', (_, make) => {
		test('is sent, and the caller receives the response', async () => {
			const { fetch, url, server } = await setup(FINE)
			const response = await fetch(url, { method: 'PUT', body: await once(make) })
			expect([response.status, server.requests[0]?.body]).toEqual([200, TEXT])
		})

		test('is sent once, and the error of a failed connection says why and what to do', async () => {
			const { fetch, url, server } = await setup([reset('request-head'), FINE])
			const error = await failure(fetch(url, { method: 'PUT', body: await once(make) }))
			expect(error).toBeInstanceOf(TypeError)
			expect(networkError(error.cause)).toHaveProperty(
				'code',
				expect.stringMatching(/ECONNRESET|EPIPE|UND_ERR_SOCKET/),
			)
			expect(error.message).toBe(
				`${Object(error.cause).message} (not retried: the request body is a stream and was already sent. Pass body: () => a new stream)`,
			)
			expect(explain(error)).toMatchObject({ stop: 'body-used', attempts: [{ outcome: 'transient' }] })
			expect(server.requests).toHaveLength(1)
		})

		test('is sent once, and a 503 is returned', async () => {
			const { fetch, url, server } = await setup([BUSY, FINE])
			const response = await fetch(url, { method: 'PUT', body: await once(make) })
			expect([response.status, explain(response)?.stop, server.requests.length]).toEqual([
				503,
				'body-used',
				1,
			])
			expect(await response.text()).toBe('busy')
		})
	})
})
