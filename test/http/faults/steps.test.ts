import { describe, expect, it } from 'vitest'
import {
	answer,
	chunkedGarbage,
	deferred,
	drip,
	type FaultServer,
	fin,
	hugeBody,
	malformedHead,
	type Phase,
	reset,
	startFaultServer,
	startTlsFaultServer,
	trickleHead,
	wrongLength,
} from './fault-server.ts'
import { oneByOne, wire } from './wire.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n'
const text = async (server: FaultServer, init?: RequestInit) => (await fetch(server.url(), init)).text()

describe('on the wire', () => {
	it.each<[Phase, string]>([
		['request-head', ''],
		['response-head', HEAD],
		['body', `${HEAD}half of it`],
	])('a connection is reset or closed in phase %s', async (phase, sent) => {
		await using server = await startFaultServer([reset(phase), fin(phase)])
		expect(await wire(server)).toMatchObject({ end: 'ECONNRESET', received: sent })
		expect(await wire(server)).toMatchObject({ end: 'FIN', received: sent })
		expect(server.requests.map(({ outcome }) => outcome)).toEqual(['done', 'done'])
	})

	it('a connection is reset or closed on accept, before the request is read', async () => {
		await using server = await startFaultServer([reset('accept'), fin('accept'), answer()])
		expect(await wire(server)).toMatchObject({ end: 'ECONNRESET', received: '' })
		expect(await wire(server)).toMatchObject({ end: 'FIN', received: '' })
		expect(server.requests).toEqual([])
		expect(await text(server)).toBe('')
		expect([server.requests.length, server.connections.opened]).toEqual([1, 3])
	})

	it('on a kept-alive connection, an accept fault applies to the next request', async () => {
		await using server = await startFaultServer([answer(), fin('accept')])
		expect(await oneByOne(server, 2)).toEqual({ answers: 1 })
		expect([server.requests.length, server.connections.opened]).toEqual([2, 1])
	})

	it('a fault occurs when the test triggers it', async () => {
		const { promise, resolve: strike } = deferred()
		await using server = await startFaultServer(reset('body', { after: promise }))
		const response = await fetch(server.url())
		expect(response.status).toBe(200)
		strike()
		await expect(response.text()).rejects.toMatchObject({
			message: 'terminated',
			cause: { code: 'ECONNRESET' },
		})
	})

	it('a drip goes on piece by piece until it is stopped', async () => {
		const { promise, resolve: stop } = deferred()
		await using server = await startFaultServer(drip({ piece: 'drop', stop: promise }))
		const response = await fetch(server.url())
		await server.until('some drops', () => (server.requests[0]?.bytesWritten ?? 0) > 300)
		stop()
		expect(await response.text()).toMatch(/^(drop){2,}$/)
	})

	it('a head trickles in line by line until it is stopped', async () => {
		const { promise, resolve: stop } = deferred()
		await using server = await startFaultServer(trickleHead({ stop: promise }))
		const response = fetch(server.url())
		await server.until('some lines', () => (server.requests[0]?.bytesWritten ?? 0) > 50)
		stop()
		expect((await response).headers.get('x-2')).toBe('1')
		expect(await (await response).text()).toBe('late')
	})

	it('informational heads come before the response', async () => {
		await using server = await startFaultServer(
			answer({ informational: [102, 103], headers: { connection: 'close' }, body: 'ok' }),
		)
		const { received } = await wire(server)
		expect(received).toMatch(
			/^HTTP\/1.1 102 Wait\r\nx-hint: 102\r\n\r\nHTTP\/1.1 103 Wait\r\n.*\r\n\r\nHTTP\/1.1 200 OK/,
		)
		expect(await text(server)).toBe('ok')
	})

	it('content-length can be too small or too large', async () => {
		await using server = await startFaultServer([wrongLength(), wrongLength({ declared: 4 })])
		await expect(text(server)).rejects.toMatchObject({ cause: { code: 'UND_ERR_SOCKET' } })
		expect(await wire(server)).toMatchObject({
			end: 'FIN',
			received: 'HTTP/1.1 200 Said\r\ncontent-length: 4\r\n\r\nhalf of it',
		})
	})

	it('the client closes the connection after garbage', async () => {
		await using server = await startFaultServer([chunkedGarbage(), malformedHead()])
		await expect(text(server)).rejects.toMatchObject({ cause: { name: 'HTTPParserError' } })
		await expect(text(server)).rejects.toMatchObject({ cause: { name: 'HTTPParserError' } })
		await server.allClosed()
		expect(server.abortedCount).toBe(0)
	})

	it('a huge body is sent completely to a client that reads it, and is counted', async () => {
		await using server = await startFaultServer(hugeBody({ bytes: 3_000_000 }))
		const response = await fetch(server.url())
		expect(response.status).toBe(500)
		expect((await response.arrayBuffer()).byteLength).toBe(3_000_000)
		expect((await server.done(1)).bytesWritten).toBeGreaterThanOrEqual(3_000_000)
	})

	it('a huge body stops soon after the client cancels it', async () => {
		await using server = await startFaultServer(hugeBody())
		const response = await fetch(server.url())
		await response.body?.cancel()
		expect((await server.aborted(1)).bytesWritten).toBeLessThan(50_000_000)
	})

	it('a TLS handshake hangs until the client disconnects', async () => {
		await using server = await startTlsFaultServer('hang')
		const caller = new AbortController()
		const call = fetch(server.url(), { signal: caller.signal })
		await server.connected(1)
		caller.abort(new Error('the user left'))
		await expect(call).rejects.toThrow('the user left')
	})
})
