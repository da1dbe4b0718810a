/** Requests of all kinds, without a server: where the bytes of the body are, and what is missing. */
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import {
	signWebhook,
	verifyWebhook,
	type WebhookRequest,
	type WebhookVerificationError,
} from 'yaoki/webhooks'
import { BODY, plainRequest, reasonOf, rejection, SECRET, signedRequest } from './support.ts'

const bytes = new TextEncoder().encode(BODY)
const textOf = async (request: WebhookRequest, options = {}): Promise<string> =>
	new TextDecoder().decode((await verifyWebhook(request, SECRET, options)).body)

describe('web requests', () => {
	test('web requests are read', async () => {
		expect(await textOf(await signedRequest())).toBe(BODY)
	})

	test('a web request without a body is one with an empty body', async () => {
		const headers = await signWebhook({ id: 'msg_1', body: '' }, SECRET)
		expect(await textOf(new Request('https://shop.example.com', { method: 'POST', headers }))).toBe('')
	})

	test('a streamed body is joined', async () => {
		const chunks = [bytes.slice(0, 3), bytes.slice(3, 4), bytes.slice(4)]
		const stream = new ReadableStream({
			start(controller) {
				for (const chunk of chunks) controller.enqueue(chunk)
				controller.close()
			},
		})
		const init = { body: stream, duplex: 'half' } as RequestInit
		expect(await textOf(await signedRequest(BODY, SECRET, init))).toBe(BODY)
	})

	test('the json of a webhook is read as often as needed', async () => {
		const webhook = await verifyWebhook(await signedRequest(), SECRET)
		expect([webhook.json(), webhook.json()]).toEqual([{ test: 2_432_232_314 }, { test: 2_432_232_314 }])
	})

	test.each<[string, (request: Request) => unknown]>([
		['json()', (request) => request.json()],
		['text()', (request) => request.text()],
		['a reader', (request) => request.body?.getReader()],
	])('a body that %s has used is the mistake of the receiver', async (_, use) => {
		const request = await signedRequest()
		await use(request)
		const error = await rejection(request, SECRET)
		expect(error).toMatchObject({ reason: 'body-used', statusCode: 500, code: 'YAOKI_WEBHOOK_VERIFICATION' })
		expect(error.message).toContain('before other code reads the body')
	})

	test('a copy of the request can be read elsewhere', async () => {
		const request = await signedRequest()
		await request.clone().json()
		expect(await textOf(request)).toBe(BODY)
	})

	test('a body that breaks is incomplete', async () => {
		const cause = new Error('reset')
		const body = new ReadableStream({
			pull(controller) {
				controller.error(cause)
			},
		})
		const request = await signedRequest(BODY, SECRET, { body, duplex: 'half' } as RequestInit)
		const error = await rejection(request, SECRET)
		expect(error).toMatchObject({ reason: 'body-incomplete', statusCode: 400, cause })
	})
})

describe('the limit of bodies', () => {
	test.each([
		[bytes.length, BODY],
		[bytes.length - 1, 'body-too-large'],
		[0, 'body-too-large'],
	])('with a limit of %d bytes', async (maxBodyBytes, expected) => {
		const outcome = async (request: WebhookRequest) =>
			textOf(request, { maxBodyBytes }).catch((error: WebhookVerificationError) => {
				expect(error.statusCode).toBe(413)
				return error.reason
			})
		const { headers } = await plainRequest()
		expect(await outcome(await signedRequest())).toBe(expected)
		expect(await outcome({ headers, body: BODY })).toBe(expected)
		expect(await outcome(nodeRequest(headers, [bytes]))).toBe(expected)
	})

	test('a body without an end is not collected', async () => {
		let sent = 0
		let isCancelled = false
		const body = new ReadableStream({
			pull(controller) {
				controller.enqueue(new Uint8Array(65_536))
				sent += 65_536
			},
			cancel() {
				isCancelled = true
			},
		})
		const request = await signedRequest(BODY, SECRET, { body, duplex: 'half' } as RequestInit)
		expect(await reasonOf(request, SECRET)).toBe('body-too-large')
		expect(isCancelled).toBe(true)
		expect(sent).toBeLessThan(2 * 1_048_576)
	})

	test('a length in the headers is enough to reject', async () => {
		const { headers } = await plainRequest()
		const request = nodeRequest({ ...headers, 'content-length': '104857600' }, [bytes])
		expect(await reasonOf(request, SECRET)).toBe('body-too-large')
		expect(request.readableDidRead).toBe(false)
	})
})

/** A Node request by its shape: a stream with headers. */
const nodeRequest = (headers: object, chunks: readonly (Uint8Array | string)[], more: object = {}) =>
	Object.assign(Readable.from(chunks, { objectMode: false }), { headers }, more) as Readable & {
		readonly headers: object
		readonly body?: unknown
	}

describe('node requests', () => {
	test('an unread request is read', async () => {
		const { headers } = await plainRequest()
		expect(await textOf(nodeRequest(headers, [bytes.slice(0, 7), bytes.slice(7)]))).toBe(BODY)
		expect(await textOf(nodeRequest(headers, [BODY]).setEncoding('utf8'))).toBe(BODY)
	})

	test.each([
		['a Buffer', Buffer.from(BODY)],
		['a Uint8Array', bytes],
		['an ArrayBuffer', bytes.buffer],
		['a string', BODY],
	])('%s is taken as body or rawBody', async (_, value) => {
		const { headers } = await plainRequest()
		expect(await textOf({ headers, body: value })).toBe(BODY)
		expect(await textOf({ headers, rawBody: value, body: JSON.parse(BODY) })).toBe(BODY)
		const read = nodeRequest(headers, [bytes], { body: value })
		await read.toArray()
		expect(await textOf(read)).toBe(BODY)
	})

	test.each([
		['an object', {}],
		['an array', []],
		['a number', 7],
	])('a body that was parsed to %s is the mistake of the receiver', async (_, value) => {
		const { headers } = await plainRequest()
		const read = nodeRequest(headers, [bytes], { body: value })
		await read.toArray()
		for (const request of [{ headers, body: value }, read]) {
			const error = await rejection(request, SECRET)
			expect(error).toMatchObject({ reason: 'body-parsed', statusCode: 500, status: 500 })
			expect(error.message).toContain("express.raw({ type: 'application/json' })")
		}
	})

	test('a parser that left the stream unread has not parsed it', async () => {
		const { headers } = await plainRequest()
		expect(await textOf(nodeRequest(headers, [bytes], { body: {} }))).toBe(BODY)
	})

	test('a request that was read and has no body is the mistake of the receiver', async () => {
		const { headers } = await plainRequest()
		const read = nodeRequest(headers, [bytes])
		await read.toArray()
		expect(await reasonOf(read, SECRET)).toBe('body-used')
	})

	test('a request that breaks is incomplete', async () => {
		const { headers } = await plainRequest()
		const destroyed = nodeRequest(headers, [bytes])
		destroyed.destroy()
		expect(await reasonOf(destroyed, SECRET)).toBe('body-incomplete')
		const breaking = new Readable({ read() {} })
		const reason = reasonOf(Object.assign(breaking, { headers }), SECRET)
		breaking.push(bytes.slice(0, 3))
		breaking.destroy(new Error('reset'))
		expect(await reason).toBe('body-incomplete')
	})
})

describe('events of AWS Lambda', () => {
	test('a body in base64 is decoded', async () => {
		const { headers } = await plainRequest()
		const body = Buffer.from(BODY).toString('base64')
		expect(await textOf({ headers, body, isBase64Encoded: true })).toBe(BODY)
		expect(await textOf({ headers, body: BODY, isBase64Encoded: false })).toBe(BODY)
		await expect(textOf({ headers, body: '%', isBase64Encoded: true })).rejects.toMatchObject({
			argument: 'request.body',
		})
	})

	test('no body is an empty one', async () => {
		const headers = await signWebhook({ id: 'msg_1', body: '' }, SECRET)
		expect(await textOf({ headers, body: null })).toBe('')
	})
})

describe('headers', () => {
	test('the case of names does not matter', async () => {
		const { headers } = await plainRequest()
		const entries = Object.entries(headers)
		for (const change of [
			(name: string) => name.toUpperCase(),
			(name: string) => name.replace(/\b\w/g, (letter) => letter.toUpperCase()),
		])
			expect(
				await textOf({
					headers: Object.fromEntries(entries.map(([name, value]) => [change(name), value])),
					body: BODY,
				}),
			).toBe(BODY)
		expect(await textOf({ headers: new Headers(headers), body: BODY })).toBe(BODY)
	})

	test('a list with one value is that value, and a repeated id is invalid', async () => {
		const { headers } = await plainRequest()
		const listed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
		expect(await textOf({ headers: listed, body: BODY })).toBe(BODY)
		const repeated = { ...headers, 'webhook-id': ['msg_1', 'msg_1'] }
		expect(await reasonOf({ headers: repeated, body: BODY }, SECRET)).toBe('invalid-header')
	})

	test('too many signatures are rejected before a body is verified', async () => {
		const { headers } = await plainRequest()
		const many = { ...headers, 'webhook-signature': Array(21).fill(headers['webhook-signature']).join(' ') }
		expect(await reasonOf({ headers: many, body: BODY }, SECRET)).toBe('invalid-header')
	})
})

describe('what is no request', () => {
	test.each([
		['nothing', undefined],
		['text', BODY],
		['the context of Hono', { req: { raw: {} } }],
		['headers alone', new Headers()],
	])('%s is rejected', async (_, request) => {
		await expect(verifyWebhook(request as unknown as Request, SECRET)).rejects.toMatchObject({
			name: 'InvalidArgumentError',
			argument: 'request',
		})
	})

	test('headers without a body are rejected', async () => {
		const { headers } = await plainRequest()
		await expect(verifyWebhook({ headers }, SECRET)).rejects.toMatchObject({ argument: 'request.body' })
	})

	test('unknown options are rejected', async () => {
		const options = { tolerance: 5 }
		await expect(verifyWebhook(await plainRequest(), SECRET, options as object)).rejects.toThrow(
			'Unknown option "tolerance" for verifyWebhook. Did you mean "toleranceMs"?',
		)
	})
})
