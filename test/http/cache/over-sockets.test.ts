import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { cachedResponse } from '../../../src/http/cache/cached-response.ts'
import { readWhole } from '../../../src/http/cache/read-body.ts'
import { ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { closeMidBody, faultServer } from '../../core/classify/fault-server.ts'
import { get } from './cache-responses.ts'

/** A server that sends these bytes on every connection and closes it. */
const wire = (...parts: (string | Uint8Array)[]) =>
	faultServer((socket) =>
		socket.once('data', () => {
			for (const part of parts) socket.write(part)
			socket.end()
		}),
	)

const HEAD = 'HTTP/1.1 200 OK\r\nconnection: close\r\n'
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

describe('over a real socket', () => {
	it('a body that breaks fails as in fetch', async () => {
		await using server = await faultServer(closeMidBody)
		const failure = await fetch(server.url)
			.then((response) => response.text())
			.catch((error: unknown) => error)
		expect(failure).toBeInstanceOf(TypeError)
		const response = await fetch(server.url)
		await expect(readWhole(response, 1_000)).rejects.toMatchObject({ message: 'terminated' })
	})

	it('invalid chunks fail, and nothing is cached', async () => {
		await using server = await wire(CHUNKED, chunk('good'), 'zz\r\nbad')
		await expect(readWhole(await fetch(server.url), 1_000)).rejects.toBeInstanceOf(TypeError)
	})

	it('a large body that breaks after the limit fails when the caller reads it', async () => {
		await using server = await wire(CHUNKED, chunk('a'.repeat(100)), chunk('b'.repeat(100)), '64\r\ncut')
		const { bytes, response } = await readWhole(await fetch(server.url), 50)
		expect(bytes).toBeUndefined()
		expect(response.url).toBe(`${server.url}/`)
		await expect(response.text()).rejects.toBeInstanceOf(TypeError)
	})

	it('an abort while the body is read rejects with its reason', async () => {
		await using server = await faultServer((socket) =>
			socket.once('data', () => socket.write(CHUNKED + chunk('half'))),
		)
		const abort = new AbortController()
		const reading = readWhole(await fetch(server.url, { signal: abort.signal }), 1_000)
		const reason = new Error('the caller left')
		abort.abort(reason)
		await expect(reading).rejects.toBe(reason)
	})

	it('a compressed response is cached decoded, without its content-encoding', async () => {
		const text = 'hello '.repeat(100)
		const zipped = gzipSync(text)
		const headers = `content-encoding: gzip\r\ncontent-length: ${zipped.byteLength}\r\n`
		await using server = await wire(`${HEAD}${headers}\r\n`, zipped)
		const cache = new ResponseCache()
		const request = get({}, server.url)
		const fetched = await fetch(server.url)
		expect(cache.isWanted(request, fetched, 0)).toBe(true)
		const { bytes, response } = await readWhole(fetched, cache.maxBodyBytes)
		expect(await response.text()).toBe(text)
		if (!bytes) throw new Error('it was not read')
		const { status, statusText, url } = response
		cache.store(request, { status, statusText, url, headers: response.headers, bytes }, 0)
		const kept = cache.find(request, 2_500)
		if (!kept) throw new Error('it was not kept')
		const served = cachedResponse(kept, 2_500 - kept.storedAt)
		expect(await served.text()).toBe(text)
		expect(Object.fromEntries(served.headers)).toEqual({
			age: '2',
			'cache-status': 'yaoki; hit; detail=circuit-open',
		})
		expect(served.url).toBe(`${server.url}/`)
	})
})
