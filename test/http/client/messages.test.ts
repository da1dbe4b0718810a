import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { explain } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { answer } from '../faults/fault-server.ts'
import { FETCHES, failure, setup, textOf } from './setup.ts'

const ONCE = 'not retried: the request body is a stream and was already sent. Pass body: () => a new stream'
const USED = 'The request body has already been read. Pass a new one, or body: () => a new stream'

/** Values that untyped callers may pass. */
const untyped = (value: unknown): never => value as never

describe.each(FETCHES)('an HttpError over %s', (_, fetch) => {
	it('names the request without the query, which may contain secrets', async () => {
		const { client, server } = await setup(fetch, answer({ status: 404 }))
		const error = await failure(client.get(server.url('/users/7?token=secret#part')))
		const message = `HTTP 404 for GET ${server.origin}/users/7`
		expect(error).toMatchObject({ name: 'HttpError', statusCode: 404, message })
		expect(inspect(error)).toContain(message)
		expect(inspect(error)).not.toContain('HTTP 404\n')
	})

	it('names the request in the final error only, while explain stays short', async () => {
		const { client, server } = await setup(fetch, answer({ status: 503 }), { maxRetries: 1 })
		const error = await failure(client.put(server.url('/a')))
		expect(error).toMatchObject({ message: `HTTP 503 for PUT ${server.origin}/a` })
		expect(explain(error)?.attempts[0]).toMatchObject({ errorMessage: 'HTTP 503' })
	})

	it('shows no internal fields in logs', async () => {
		const { client, server } = await setup(fetch, answer({ status: 503, headers: { 'retry-after': '999' } }))
		const error = await failure(client.get(server.url()))
		const names = Object.keys(Object(error))
		expect(names).toContain('retryAfterMs')
		for (const own of ['waitMs', 'isTooLong', 'isInProgress']) expect(names).not.toContain(own)
	})

	it('says why a stream was not sent again', async () => {
		const { client, server } = await setup(fetch, answer({ status: 503 }), { maxRetries: 2 })
		const error = await failure(client.put(server.url(), { body: Readable.from([Buffer.from('an order')]) }))
		expect(error).toMatchObject({
			name: 'HttpError',
			statusCode: 503,
			message: `HTTP 503 for PUT ${server.url()} (${ONCE})`,
		})
		expect(explain(error)?.stop).toBe('body-used')
		expect(server.requests).toHaveLength(1)
	})

	it('does not mention the stream if the failure is permanent', async () => {
		const { client, server } = await setup(fetch, answer({ status: 422 }))
		const error = await failure(client.put(server.url(), { body: Readable.from([Buffer.from('an order')]) }))
		expect(error).toMatchObject({ message: `HTTP 422 for PUT ${server.url()}` })
	})
})

describe.each(FETCHES)('a body over %s', (_, fetch) => {
	it.each<[string, () => Promise<Readable>]>([
		[
			'has been read',
			async () => {
				const stream = Readable.from([Buffer.from('an order')])
				for await (const _ of stream);
				return stream
			},
		],
		[
			'was read in part',
			async () => {
				const stream = Readable.from([Buffer.from('an '), Buffer.from('order')], { objectMode: false })
				await new Promise((resolve) => stream.once('readable', resolve))
				stream.read(1)
				return stream
			},
		],
		['was destroyed', async () => createReadStream(import.meta.filename).destroy()],
	])('a body that is a Node stream and %s is rejected before anything is sent', async (_, make) => {
		const { client, server, waits } = await setup(fetch, answer())
		const error = await failure(client.put(server.url(), { body: await make() }))
		expect(error).toBeInstanceOf(TypeError)
		expect(error).toHaveProperty('message', USED)
		expect([server.connections.opened, waits]).toEqual([0, []])
	})

	it('a body that is an unread Node stream is sent', async () => {
		const { client, server } = await setup(fetch, answer({ body: 'fine' }))
		const body = Readable.from([Buffer.from('an order')])
		expect(await textOf(client.put(server.url(), { body }))).toBe('fine')
		expect(server.requests[0]?.body).toBe('an order')
	})

	it.each([
		['a function', () => 1, 'a function'],
		['a symbol', Symbol('order'), 'Symbol(order)'],
		['an object that writes itself as nothing', { toJSON: () => undefined }, '[object Object]'],
	])('a body of json that is %s is rejected, because nothing would be sent', async (_, json, shown) => {
		const { client, server } = await setup(fetch, answer())
		const error = await failure(client.post(server.url(), { json }))
		expect(error).toMatchObject({ optionPath: 'json', received: json })
		expect(error).toHaveProperty(
			'message',
			`Invalid option "json": expected a value that JSON.stringify can convert, got ${shown}`,
		)
		expect(server.connections.opened).toBe(0)
	})

	it.each([null, false, 0, ''])('a body of json that is %j is sent', async (json) => {
		const { client, server } = await setup(fetch, answer())
		await client.post(server.url(), { json })
		expect(String(server.requests[0]?.body)).toBe(JSON.stringify(json))
	})

	it('rejects a Request as the URL, because its method and body would be lost', async () => {
		const { client, server } = await setup(fetch, answer())
		for (const given of [new Request(server.url()), undefined, null, 7, {}]) {
			const error = await failure(client.get(untyped(given)))
			expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'url' })
			expect(error).toHaveProperty(
				'message',
				`Invalid argument "url": expected a string or URL, got ${given}`,
			)
		}
		expect((await client.get(new URL(server.url()))).status).toBe(200)
	})
})

it.each(['localhost:3000/x', 'ftp://example.com/x', 'data:text/plain,hello', 'file:///etc/hosts'])(
	'a client rejects other schemes than http and https: %s',
	async (url) => {
		const sent: string[] = []
		const client = new ResilientHttpClient({
			fetch: async (to) => {
				sent.push(String(to))
				return new Response()
			},
		})
		const error = await failure(client.get(url))
		expect(error).toBeInstanceOf(TypeError)
		const start = `Invalid URL '${url}': unsupported scheme '${url.slice(0, url.indexOf(':') + 1)}'`
		expect(error).toHaveProperty('message', expect.stringContaining(start))
		expect(sent).toEqual([])
	},
)
