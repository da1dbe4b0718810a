import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type Handler, init, SENDERS, serve } from './local-server.ts'

const json: Handler = (_, response) =>
	response.writeHead(201, 'Made', { 'content-type': 'application/json; charset=utf-8' }).end('{"name":"Ada"}')

const long = 'many words '.repeat(20_000)

const canDoBrotli = (() => {
	try {
		return Boolean(new DecompressionStream('brotli' as CompressionFormat))
	} catch {
		return false
	}
})()

describe.each(SENDERS)('a response over $name', ({ send }) => {
	const get = async (handler: Handler, method = 'GET') =>
		await send((await serve(handler)).url, init({ method }))

	it('has status, status text and headers', async () => {
		const response = await get((_, answer) =>
			answer.writeHead(404, 'Gone Fishing', { 'set-cookie': ['a=1', 'b=2'], 'x-name': 'r\u00e9mi' }).end(),
		)
		expect([response.status, response.statusText, response.ok]).toEqual([404, 'Gone Fishing', false])
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
		expect(response.headers.get('X-Name')).toBe('r\u00e9mi')
		expect(response.headers.get('x-other')).toBeNull()
		expect((await get(json)).ok).toBe(true)
	})

	it('is read as text, JSON, bytes and a blob', async () => {
		expect(await (await get(json)).text()).toBe('{"name":"Ada"}')
		expect(await (await get(json)).json()).toEqual({ name: 'Ada' })
		expect(new TextDecoder().decode(await (await get(json)).arrayBuffer())).toBe('{"name":"Ada"}')
		const blob = await (await get(json)).blob()
		expect([blob.type, await blob.text()]).toEqual(['application/json;charset=utf-8', '{"name":"Ada"}'])
	})

	it('can be read in chunks', async () => {
		const response = await get((_, answer) => answer.end(long))
		let size = 0
		for await (const chunk of response.body ?? []) {
			expect(chunk).toBeInstanceOf(Uint8Array)
			size += chunk.byteLength
		}
		expect(size).toBe(long.length)
	})

	it("can be read into the reader's own buffer", async () => {
		const response = await get((_, answer) => answer.end('0123456789'))
		const reader = response.body?.getReader({ mode: 'byob' })
		const first = await reader?.read(new Uint8Array(4))
		expect(new TextDecoder().decode(first?.value)).toBe('0123')
		const rest = await reader?.read(new Uint8Array(100))
		expect(new TextDecoder().decode(rest?.value)).toBe('456789')
		expect((await reader?.read(new Uint8Array(4)))?.done).toBe(true)
	})

	it('rejects invalid JSON with a SyntaxError', async () => {
		await expect((await get((_, answer) => answer.end('{'))).json()).rejects.toThrow(SyntaxError)
	})

	it('loses a byte order mark', async () => {
		expect(await (await get((_, answer) => answer.end('\ufefftext'))).text()).toBe('text')
	})

	it('is used after it was read, and then rejects with a TypeError', async () => {
		const response = await get(json)
		expect(response.bodyUsed).toBe(false)
		const first = response.text()
		expect(response.bodyUsed).toBe(true)
		await expect(response.text()).rejects.toThrow(TypeError)
		expect(await first).toBe('{"name":"Ada"}')
		for (const again of ['text', 'json', 'arrayBuffer', 'blob'] as const)
			await expect(response[again]()).rejects.toThrow(TypeError)
		expect(() => response.body?.getReader()).toThrow(TypeError)
	})

	it('can still be read as a whole if its stream was only accessed', async () => {
		const response = await get(json)
		expect(response.body).toBe(response.body)
		expect(response.bodyUsed).toBe(false)
		expect(await response.json()).toEqual({ name: 'Ada' })
		expect(response.bodyUsed).toBe(true)
		await expect(response.text()).rejects.toThrow(TypeError)
	})

	it('cannot be read as a whole if its stream is locked or was read from', async () => {
		const response = await get(json)
		const reader = response.body?.getReader()
		expect(response.bodyUsed).toBe(false)
		await expect(response.text()).rejects.toThrow(TypeError)
		await reader?.read()
		reader?.releaseLock()
		expect(response.bodyUsed).toBe(true)
		await expect(response.text()).rejects.toThrow(TypeError)
	})

	it.each([
		['GET', 204],
		['GET', 205],
		['GET', 304],
		['HEAD', 200],
	])('a response to %s with status %i has no body, as often as it is read', async (method, status) => {
		const response = await get((_, answer) => answer.writeHead(status).end(), method)
		expect(response.body).toBeNull()
		expect(await response.text()).toBe('')
		expect((await response.arrayBuffer()).byteLength).toBe(0)
		expect(response.bodyUsed).toBe(false)
	})

	it('a response with an empty body has one', async () => {
		const response = await get((_, answer) => answer.end())
		expect(response.body).not.toBeNull()
		expect(await response.text()).toBe('')
	})

	it.each<[string, Uint8Array]>([
		['gzip', gzipSync(long)],
		['x-gzip', gzipSync(long)],
		['GZIP', gzipSync(long)],
		['deflate', deflateSync(long)],
		['deflate', deflateRawSync(long)],
		['deflate, gzip', gzipSync(deflateSync(long))],
		...(canDoBrotli ? [['br', brotliCompressSync(long)] as [string, Uint8Array]] : []),
	])('a response that was sent as %s is text again', async (encoding, body) => {
		const handler: Handler = (_, answer) => answer.writeHead(200, { 'content-encoding': encoding }).end(body)
		const response = await get(handler)
		expect(await response.text()).toBe(long)
		expect(response.headers.get('content-encoding')).toBe(encoding)
		expect(await new Response((await get(handler)).body).text()).toBe(long)
		expect((await (await get(handler)).arrayBuffer()).byteLength).toBe(long.length)
	})

	it('stays encoded in an unknown encoding', async () => {
		const response = await get((_, answer) =>
			answer.writeHead(200, { 'content-encoding': 'rot13' }).end('grkg'),
		)
		expect(await response.text()).toBe('grkg')
	})

	it('can be empty with a content-encoding', async () => {
		const handler: Handler = (_, answer) => answer.writeHead(200, { 'content-encoding': 'gzip' }).end()
		expect(await (await get(handler)).text()).toBe('')
		expect(await (await get(handler, 'HEAD')).text()).toBe('')
	})

	it('a response that does not match its encoding rejects', async () => {
		const response = await get((_, answer) => answer.writeHead(200, { 'content-encoding': 'gzip' }).end(long))
		await expect(response.text()).rejects.toThrow(Error)
	})

	it.each(['text', 'json', 'arrayBuffer', 'blob'] as const)(
		'a response that breaks rejects %s',
		async (how) => {
			const response = await get((_, answer) => {
				answer.writeHead(200, { 'content-length': 100 }).write('half', () => answer.destroy())
			})
			await expect(response[how]()).rejects.toThrow(Error)
		},
	)

	it('a response that never arrived is a network error', async () => {
		await expect(get((_, answer) => answer.destroy())).rejects.toThrow(Error)
		await expect(send('http://127.0.0.1:1', init())).rejects.toThrow(Error)
	})
})
