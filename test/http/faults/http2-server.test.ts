import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { deferred } from '../deferred.ts'
import { makeCertificate } from './certificate.ts'
import { answerStream, goAway, type Http2FaultServer, hangStream, startHttp2Server } from './http2-server.ts'

/** A client of node:http2, closed with its block. */
function session(server: Http2FaultServer): ClientHttp2Session & Disposable {
	const client = connect(server.origin, server.ca ? { ca: server.ca } : {})
	client.on('error', () => {})
	return Object.assign(client, { [Symbol.dispose]: () => client.destroy() })
}

async function answered(client: ClientHttp2Session, body = '', path = '/'): Promise<string> {
	const stream = client.request({ ':path': path, ':method': 'POST' })
	let received = ''
	stream.setEncoding('utf8').on('data', (piece: string) => {
		received += piece
	})
	stream.end(body)
	await once(stream, 'end')
	return received
}

describe.each([true, false])('the HTTP/2 server (tls: %s)', (tls) => {
	it('records streams and responds as scripted', async () => {
		const { promise, resolve } = deferred()
		await using server = await startHttp2Server(
			[answerStream({ body: 'now' }), answerStream({ body: 'later', after: promise })],
			{
				tls,
			},
		)
		using client = session(server)
		expect(await answered(client, 'an order', '/orders')).toBe('now')
		const second = answered(client)
		await server.requested(2)
		resolve()
		expect(await second).toBe('later')
		expect(server.requests[0]).toMatchObject({
			n: 1,
			connection: 1,
			method: 'POST',
			path: '/orders',
			body: 'an order',
		})
		expect((await server.done(1)).bytesWritten).toBe(3)
		expect(server.connections).toEqual({ opened: 1, open: 1, mostOpen: 1 })
	})

	it.each([
		[false, constants.NGHTTP2_NO_ERROR, 0],
		[true, constants.NGHTTP2_INTERNAL_ERROR, 1],
	])('sends a GOAWAY whose last stream covers the first one (%s) or not', async (covers, code, last) => {
		await using server = await startHttp2Server(goAway({ covers, code }), { tls })
		using client = session(server)
		const away = once(client, 'goaway')
		client.request({ ':path': '/' }).on('error', () => {})
		expect((await away).slice(0, 2)).toEqual([code, last])
	})

	it('sends a GOAWAY that keeps earlier streams', async () => {
		await using server = await startHttp2Server([answerStream(), goAway({ covers: false })], { tls })
		using client = session(server)
		const away = once(client, 'goaway')
		await answered(client)
		client.request({ ':path': '/' }).on('error', () => {})
		expect((await away).slice(0, 2)).toEqual([constants.NGHTTP2_NO_ERROR, 1])
	})

	it('notices that the client resets a stream or disconnects', async () => {
		await using server = await startHttp2Server(hangStream(), { tls })
		const client = session(server)
		const streams = [client.request({ ':path': '/' }), client.request({ ':path': '/' })]
		for (const stream of streams) stream.on('error', () => {})
		await server.requested(2)
		streams[0]?.close(constants.NGHTTP2_CANCEL)
		await server.aborted(1)
		expect(server.requests[1]?.outcome).toBe('open')
		client.destroy()
		await server.aborted(2)
		await server.allClosed()
	})
})

describe('the certificate', () => {
	it('is new each time, self-signed and valid for loopback', () => {
		const [one, other] = [makeCertificate(), makeCertificate()]
		const certificate = new X509Certificate(one.cert)
		expect(certificate.verify(certificate.publicKey)).toBe(true)
		expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
		expect(certificate.checkHost('localhost')).toBe('localhost')
		expect(one.key).not.toBe(other.key)
	})
})
