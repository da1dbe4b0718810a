import http, { type RequestOptions } from 'node:http'
import https from 'node:https'
import { connect, type TcpNetConnectOpts } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { classify } from 'yaoki'
import { catchFailure, classifyFailure, PERMANENT, TRANSIENT } from './expected.ts'
import {
	bothLoopbacks,
	closeImmediately,
	closeInHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverResponds,
	resetOnRequest,
} from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'

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
	checksSchemes: true,
	aggregateIs: 'the error',
	abortThrows: 'an error of its own',
})

test('a socket with ECONNREFUSED or an unknown host is transient', async () => {
	const port = await deadPort()
	expect(await classifyFailure(() => socketTo({ host: '127.0.0.1', port }))).toEqual(TRANSIENT)
	expect(await classifyFailure(() => socketTo({ host: 'nowhere.invalid', port: 80 }))).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closed immediately', closeImmediately],
	['interrupted', closeInHandshake],
	['reset', resetOnRequest],
])('a TLS socket whose handshake is %s is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	const { port } = server
	const socket = () =>
		new Promise((resolve, reject) => {
			connectTls({ host: '127.0.0.1', port }, () => resolve('connected')).on('error', reject)
		})
	expect(await classifyFailure(socket)).toEqual(TRANSIENT)
})

test('a request that is destroyed by its timeout is transient', async () => {
	await using server = await faultServer(neverResponds)
	expect(await classifyFailure(() => get(server.url, { timeout: 20 }))).toEqual(TRANSIENT)
	const onTimeout = new Error('Request timed out')
	expect(await catchFailure(() => get(server.url, { timeout: 20, onTimeout }))).toBe(onTimeout)
	expect(classify(onTimeout)).toEqual(TRANSIENT)
})

test('a stream that closes prematurely is transient', async () => {
	await using server = await faultServer(neverResponds)
	const socket = connect(server.port, '127.0.0.1', () => socket.destroy())
	const error = await catchFailure(() => pipeline(socket, async (chunks) => text(chunks)))
	expect(error).toHaveProperty('code', 'ERR_STREAM_PREMATURE_CLOSE')
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each([
	['a port out of range', () => socketTo({ host: '127.0.0.1', port: 99_999 })],
	['an invalid header', () => get('http://127.0.0.1', { headers: { 'no name': '' } })],
	['an invalid timeout', () => get('http://127.0.0.1', { timeout: Number('soon') })],
	['an invalid path', () => get('http://127.0.0.1', { path: '/a b' })],
])('a request with %s is permanent', async (_, call) => {
	expect(await classifyFailure(call)).toEqual(PERMANENT)
})
