/** What `nodeIdempotency` does with errors. The scenarios of all adapters are in `scenarios/failures.ts`. */
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { text } from 'node:stream/consumers'
import { format } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
	IdempotencyLeaseLostError,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from '../../../src/idempotency/index.ts'
import { listen } from '../../support/listen.ts'
import { unreadableError } from '../../support/unreadable-error.ts'
import { send } from './client.ts'
import { protectedServer } from './protected-server.ts'
import { sendRaw } from './scenarios/failures.ts'

const boom = (): never => {
	throw new Error('boom')
}

test('a malformed URL gets a problem, and nothing is reported', async () => {
	const { url, failures } = await protectedServer((_, response) => response.end())
	const received = await sendRaw(url, 'GET http://%/ HTTP/1.1')
	expect(received).toMatch(/^HTTP\/1\.1 400 /)
	expect(received).toContain('"code":"request-target-malformed"')
	expect(failures).toEqual([])
})

test('an error of principal is reported once, and gets a problem', async () => {
	const { url, failures } = await protectedServer((_, response) => response.end(), { principal: boom })
	const response = await send(url)
	expect([response.status, response.code]).toEqual([500, 'internal-error'])
	expect(response.body.toString()).not.toContain('boom')
	expect(failures).toEqual([new Error('boom')])
})

// It was 500, where Express and Fastify respond with 409.
test('a lost lease asks the client to repeat the request, and is not stored', async () => {
	let runs = 0
	const { url, failures } = await protectedServer((_, response) => {
		if (++runs === 1) throw new IdempotencyLeaseLostError()
		response.end('done')
	})
	const response = await send(url)
	expect([response.status, response.code]).toEqual([409, 'request-in-progress'])
	expect(response.headers['retry-after']).toBe('1')
	expect(failures).toEqual([expect.any(IdempotencyLeaseLostError)])
	expect((await send(url)).body.toString()).toBe('done')
})

test.each(['k1', ''])('an error of the handler before its head is reported once (key %j)', async (key) => {
	const { url, failures } = await protectedServer((_, response) => {
		response.setHeader('content-length', '5000')
		response.setHeader('cache-control', 'public')
		boom()
	})
	const response = await send(url, { key })
	expect([response.status, response.code]).toEqual([500, 'internal-error'])
	expect(response.headers['cache-control']).toBe('no-store')
	expect(failures).toEqual([new Error('boom')])
})

test.each(['k1', ''])('a response that has begun is destroyed (key %j)', async (key) => {
	const { url, failures } = await protectedServer(async (_, response) => {
		response.write('a')
		await new Promise((resolve) => setImmediate(resolve))
		boom()
	})
	await expect(send(url, { key })).rejects.toThrow()
	expect(failures).toEqual([new Error('boom')])
})

// console.error threw, and the unhandled rejection ended the process.
test.each([
	['has no toString', Object.create(null)],
	['cannot be read', unreadableError()],
])('a thrown value that %s is reported, and gets a problem', async (_, thrown) => {
	const reports: string[] = []
	// Node's console formats what it gets.
	vi.spyOn(console, 'error').mockImplementation((...values) => void reports.push(format(...values)))
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
	const handler = (): never => {
		throw thrown
	}
	const server = createServer(nodeIdempotency(engine, handler))
	const url = `http://127.0.0.1:${await listen(server)}`
	onTestFinished(() => void server.close())
	const response = await send(url)
	expect([response.status, response.code]).toEqual([500, 'internal-error'])
	expect(reports).toEqual([expect.stringMatching(/^yaoki: a request handler failed: .*object/i)])
})

test('HTTP/2: responds with 500', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
	const server = createHttp2Server(nodeIdempotency(engine, boom))
	const client = connectHttp2(`http://127.0.0.1:${await listen(server)}`)
	onTestFinished(() => {
		client.destroy()
		server.close()
	})
	const stream = client.request({ ':method': 'POST', 'idempotency-key': 'k1' })
	const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])))
	stream.end('{}')
	expect(JSON.parse(await text(stream))).toMatchObject({ code: 'internal-error' })
	expect(await status).toBe(500)
})
