import { createServer, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { fail, sendStored, sendWebResponse } from '../../../../src/idempotency/adapters/node-http/send.ts'
import { IdempotencyLeaseLostError } from '../../../../src/idempotency/engine/errors.ts'
import { listening } from '../servers.ts'

/** Returns what a client receives if the server sends this. */
async function received(send: (response: ServerResponse) => unknown): Promise<Response> {
	const url = await listening(createServer((_, response) => void send(response)))
	return fetch(url)
}

describe('a stored response', () => {
	test('is sent with repeated headers and its length', async () => {
		const response = await received((target) =>
			sendStored(target, {
				status: 201,
				headers: [
					['set-cookie', 'a=1'],
					['content-type', 'text/plain'],
					['set-cookie', 'b=2'],
				],
				body: new TextEncoder().encode('hello'),
			}),
		)
		expect([response.status, await response.text()]).toEqual([201, 'hello'])
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
		expect(response.headers.get('content-length')).toBe('5')
	})
})

describe('a web response', () => {
	test('of one chunk is sent with its length and its reason', async () => {
		const given = new Response('hello', { status: 202, statusText: 'Taken' })
		const response = await received((target) => sendWebResponse(target, given, true))
		expect([response.status, response.statusText, await response.text()]).toEqual([202, 'Taken', 'hello'])
		expect(response.headers.get('content-length')).toBe('5')
	})

	test('of several chunks is streamed', async () => {
		const body = Readable.toWeb(Readable.from([Buffer.from('a'), Buffer.from('b')])) as ReadableStream
		const response = await received((target) => sendWebResponse(target, new Response(body), true))
		expect(await response.text()).toBe('ab')
		expect(response.headers.get('content-length')).toBeNull()
	})

	test('without a body is ended', async () => {
		const given = new Response(null, { status: 204 })
		const response = await received((target) => sendWebResponse(target, given, true))
		expect([response.status, await response.text()]).toEqual([204, ''])
	})

	test('is cut off if its body fails, and the error is passed on', async () => {
		const reason = new Error('the body failed')
		let sent = Promise.resolve()
		const body = new ReadableStream({
			pull(controller) {
				controller.error(reason)
			},
		})
		const failed = received((target) => {
			sent = sendWebResponse(target, new Response(body), true)
			sent.catch(() => {})
		})
		await expect(failed).rejects.toThrow()
		await expect(sent).rejects.toBe(reason)
	})
})

describe('code that failed', () => {
	test.each<[string, Error, number, string]>([
		['an error', new Error('boom'), 500, 'internal-error'],
		['a lost lease', new IdempotencyLeaseLostError(), 409, 'request-in-progress'],
	])('is reported on the console, and the client gets a problem: %s', async (_, error, status, code) => {
		const reported: unknown[] = []
		vi.spyOn(console, 'error').mockImplementation((...given) => void reported.push(...given))
		const response = await received((target) => fail(target, error))
		expect(response.status).toBe(status)
		expect(await response.json()).toMatchObject({ code })
		expect(reported).toContain(error)
	})
})
