import http, { type RequestOptions } from 'node:http'
import https from 'node:https'
import { connect, type TcpNetConnectOpts } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import {
	bothLoopbacks,
	closeAfterHeaders,
	closeAtOnce,
	closeMidBody,
	closeMidHeaders,
	closeOnRequest,
	cutHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
	stallMidBody,
} from './fault-server.ts'
import { CANCELLED, failureOf, PERMANENT, TRANSIENT, verdict } from './verdicts.ts'

const get = (url: string, options: RequestOptions & { onTimeout?: Error } = {}) =>
	new Promise<string>((resolve, reject) => {
		const client = url.startsWith('https:') ? https : http
		const request = client.get(url, { agent: false, ...options }, (response) => {
			text(response).then(resolve, reject)
		})
		request.on('error', reject)
		request.on('timeout', () => request.destroy(options.onTimeout))
	})

/** Settles when the socket has failed or closed. */
const socketTo = (options: TcpNetConnectOpts) =>
	new Promise<void>((resolve, reject) => {
		connect(options)
			.on('error', reject)
			.on('close', () => resolve())
	})

test.each<[string, Fault]>([
	['closes the connection at once', closeAtOnce],
	['closes instead of answering', closeOnRequest],
	['resets the connection', resetOnRequest],
	['closes amid the headers', closeMidHeaders],
	['closes after the headers', closeAfterHeaders],
	['closes amid the body', closeMidBody],
])('a server that %s is a transient failure of the network', async (_, fault) => {
	await using server = await faultServer(fault)
	const error = await failureOf(() => get(server.url))
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})

test('a refused connection is transient, also when a host has several addresses', async () => {
	const port = await deadPort()
	expect(await verdict(() => get(`http://127.0.0.1:${port}`))).toEqual(TRANSIENT)
	const error = await failureOf(() => get(`http://localhost:${port}`, { lookup: bothLoopbacks }))
	expect(error).toBeInstanceOf(AggregateError)
	expect(classify(error)).toEqual(TRANSIENT)
	expect(await verdict(() => socketTo({ host: '127.0.0.1', port }))).toEqual(TRANSIENT)
})

test('a host that DNS does not know is transient', async () => {
	expect(await verdict(() => get('http://nowhere.invalid'))).toEqual(TRANSIENT)
	expect(await verdict(() => socketTo({ host: 'nowhere.invalid', port: 80 }))).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closed at once', closeAtOnce],
	['cut off', cutHandshake],
	['reset', resetOnRequest],
])('a TLS handshake that is %s is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	expect(await verdict(() => get(server.tlsUrl))).toEqual(TRANSIENT)
	const { port } = server
	const socket = () =>
		new Promise((resolve, reject) => {
			connectTls({ host: '127.0.0.1', port }, () => resolve('connected')).on('error', reject)
		})
	expect(await verdict(socket)).toEqual(TRANSIENT)
})

test('a request that its own timeout destroyed is transient', async () => {
	await using server = await faultServer(neverAnswers)
	expect(await verdict(() => get(server.url, { timeout: 20 }))).toEqual(TRANSIENT)
	const onTimeout = new Error('Request timed out')
	expect(await failureOf(() => get(server.url, { timeout: 20, onTimeout }))).toBe(onTimeout)
	expect(classify(onTimeout)).toEqual(TRANSIENT)
})

test('an abort is transient, and cancelled when it is the caller’s own', async () => {
	await using silent = await faultServer(neverAnswers)
	await using stalled = await faultServer(stallMidBody)
	for (const { url } of [silent, stalled])
		for (const signal of [AbortSignal.abort(new Error('enough')), AbortSignal.timeout(20)]) {
			const error = await failureOf(() => get(url, { signal }))
			expect(classify(error)).toEqual(TRANSIENT)
			expect(classify(error, { signal })).toEqual(CANCELLED)
		}
})

test('a stream that ends too early is transient', async () => {
	await using server = await faultServer(neverAnswers)
	const socket = connect(server.port, '127.0.0.1', () => socket.destroy())
	const error = await failureOf(() => pipeline(socket, async (chunks) => text(chunks)))
	expect(error).toHaveProperty('code', 'ERR_STREAM_PREMATURE_CLOSE')
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each([
	['no host', () => get('http://')],
	['a scheme that is not HTTP', () => get('ftp://127.0.0.1')],
	['a port out of range', () => socketTo({ host: '127.0.0.1', port: 99_999 })],
	['a header that is none', () => get('http://127.0.0.1', { headers: { 'no name': '' } })],
	['a timeout that is none', () => get('http://127.0.0.1', { timeout: Number('soon') })],
	['a path that can not be sent', () => get('http://127.0.0.1', { path: '/a b' })],
])('a request with %s is permanent', async (_, call) => {
	expect(await verdict(call)).toEqual(PERMANENT)
})
