import http, { type RequestOptions } from 'node:http'
import https from 'node:https'
import { connect, type TcpNetConnectOpts } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { classify } from 'yaoki'
import {
	bothLoopbacks,
	closeAtOnce,
	cutHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
} from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'
import { failureOf, PERMANENT, TRANSIENT, verdict } from './verdicts.ts'

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

describeHttpClient('node:http', {
	get,
	getByBothLoopbacks: (url) => get(url, { lookup: bothLoopbacks }),
	getOrThrow: false,
	getJson: false,
	followsRedirects: false,
	mindsSchemes: true,
	aggregateIs: 'the error',
	abortThrows: 'an error of its own',
})

test('a socket that is refused, or whose host DNS does not know, is transient', async () => {
	const port = await deadPort()
	expect(await verdict(() => socketTo({ host: '127.0.0.1', port }))).toEqual(TRANSIENT)
	expect(await verdict(() => socketTo({ host: 'nowhere.invalid', port: 80 }))).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closed at once', closeAtOnce],
	['cut off', cutHandshake],
	['reset', resetOnRequest],
])('a TLS socket whose handshake is %s is transient', async (_, fault) => {
	await using server = await faultServer(fault)
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

test('a stream that ends too early is transient', async () => {
	await using server = await faultServer(neverAnswers)
	const socket = connect(server.port, '127.0.0.1', () => socket.destroy())
	const error = await failureOf(() => pipeline(socket, async (chunks) => text(chunks)))
	expect(error).toHaveProperty('code', 'ERR_STREAM_PREMATURE_CLOSE')
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each([
	['a port out of range', () => socketTo({ host: '127.0.0.1', port: 99_999 })],
	['a header that is none', () => get('http://127.0.0.1', { headers: { 'no name': '' } })],
	['a timeout that is none', () => get('http://127.0.0.1', { timeout: Number('soon') })],
	['a path that can not be sent', () => get('http://127.0.0.1', { path: '/a b' })],
])('a request with %s is permanent', async (_, call) => {
	expect(await verdict(call)).toEqual(PERMANENT)
})
