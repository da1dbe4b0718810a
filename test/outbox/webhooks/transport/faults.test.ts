/** Receivers that respond badly, and requests that are aborted in each phase. */
import { getEventListeners } from 'node:events'
import { createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { classify } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { MAX_BODY_MS } from '../../../../src/outbox/webhooks/transport/exchange.ts'
import {
	answer,
	chunkedGarbage,
	drip,
	fin,
	hang,
	hugeBody,
	malformedHead,
	reset,
	type Step,
	startTlsFaultServer,
	trickleHead,
	wrongLength,
} from '../../../http/faults/fault-server.ts'
import { eventually } from '../../../support/eventually.ts'
import { listen } from '../../../support/listen.ts'
import { failure, HOST, portOf, request, setup, setupClient } from './setup.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const STOP = new Error('stopped by the test')

/** A body that never ends is ended by the time limit, unless a test advances the time. */
const neverTimesOut = () => ({ runtime: virtualRuntime() })

describe('a body', () => {
	test('that ends too early is truncated: the receiver has answered', async () => {
		for (const step of [fin('body'), reset('body'), wrongLength(), chunkedGarbage()]) {
			const { server, send } = await setup(step, neverTimesOut())
			const response = await send()
			expect(response).toMatchObject({ status: 200, isTruncated: true })
			expect(['half of it', 'hello']).toContain(text(response.excerpt))
			await server.allClosed()
		}
	})

	test('of 100 MB is not read to its end', async () => {
		const { server, send } = await setup(hugeBody({ status: 200 }), neverTimesOut())
		const response = await send()
		expect(response).toMatchObject({ status: 200, isTruncated: true })
		expect(response.excerpt).toHaveLength(65_536)
		await server.allClosed()
		expect((await server.aborted(1)).bytesWritten).toBeLessThan(50_000_000)
	})

	test('that is endless ends at the limit of its size', async () => {
		const options = { ...neverTimesOut(), maxResponseBytes: 10 }
		const { server, send } = await setup(drip({ piece: 'abcd' }), options)
		const response = await send()
		expect(text(response.excerpt)).toBe('abcdabcdab')
		expect(response.isTruncated).toBe(true)
		await server.allClosed()
	})

	test.each([drip({ pace: () => new Promise(() => {}) }), hang('body'), hang('response-head')])(
		'that never ends is truncated after a second',
		async (step) => {
			const runtime = virtualRuntime()
			const { server, send } = await setup(step, { runtime })
			const sent = send()
			await eventually(() => expect(runtime.pendingTimers).toBe(1))
			await runtime.advance(MAX_BODY_MS)
			expect(await sent).toMatchObject({ status: 200, isTruncated: true })
			expect(runtime.pendingTimers).toBe(0)
			await server.allClosed()
		},
	)

	test('of exactly the limit is complete, and its connection is reused', async () => {
		const runtime = virtualRuntime()
		const { server, send } = await setup(answer({ body: 'x'.repeat(10) }), { runtime, maxResponseBytes: 10 })
		for (let n = 0; n < 3; n++) {
			const response = await send()
			expect(response.excerpt).toHaveLength(10)
			expect(response.isTruncated).toBe(false)
		}
		expect(server.connections.opened).toBe(1)
		expect(runtime.pendingTimers).toBe(0)
	})

	test('of one byte more is truncated, and its connection is closed', async () => {
		const { server, send } = await setup(answer({ body: 'x'.repeat(11) }), { maxResponseBytes: 10 })
		expect(await send()).toMatchObject({ status: 200, isTruncated: true })
		await server.allClosed()
	})

	test('is not read with a limit of 0', async () => {
		const { send } = await setup(answer({ body: 'x' }), { maxResponseBytes: 0 })
		const { excerpt, isTruncated } = await send()
		expect(excerpt).toHaveLength(0)
		expect(isTruncated).toBe(true)
	})

	test('that arrives before the request is read ends the connection', async () => {
		const { server, send } = await setup(answer({ status: 413, body: 'no', early: true }))
		const response = await send({ body: Buffer.alloc(20_000_000, 'x') })
		expect(response.status).toBe(413)
		await server.until('the end of the request', () => server.requests[0]?.outcome !== 'open')
	})
})

describe('a receiver', () => {
	test.each<readonly [string, Step]>([
		['resets on accept', reset('accept')],
		['closes on accept', fin('accept')],
		['resets after the request', reset('request-head')],
		['closes after the request', fin('request-head')],
	])('that %s fails the request as transient', async (_, step) => {
		const { server, send } = await setup(step)
		expect(classify((await failure(send())) as Error).kind).toBe('transient')
		await server.allClosed()
	})

	test.each<readonly [string, Step, string]>([
		['sends no HTTP', malformedHead(), 'HPE_'],
		['sends headers without end', trickleHead({ pace: () => setImmediate() }), 'HPE_HEADER_OVERFLOW'],
		['sends a header of 20 kB', answer({ headers: { 'x-a': 'a'.repeat(20_000) } }), 'HPE_HEADER_OVERFLOW'],
		[
			'switches protocols',
			malformedHead('HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
			'ECONNRESET',
		],
	])('that %s fails the request', async (_, step, code) => {
		const { server, send } = await setup(step)
		expect(await failure(send())).toMatchObject({ code: expect.stringContaining(code) })
		await server.allClosed()
	})

	test('that does not listen fails the request', async () => {
		const server = createServer()
		const port = await listen(server)
		server.close()
		const client = setupClient([port])
		const error = await failure(client.send(request({ origin: `http://x:${port}` })))
		expect(error).toMatchObject({ code: 'ECONNREFUSED' })
		expect(classify(error as Error).kind).toBe('transient')
	})

	test('that informs before it responds is waited for', async () => {
		const { send } = await setup(answer({ informational: [102, 103], status: 204 }))
		expect(await send()).toMatchObject({ status: 204, isTruncated: false })
	})
})

describe('an abort', () => {
	test('before the request sends nothing, and rejects with its reason', async () => {
		const { server, send } = await setup()
		expect(await failure(send({ signal: AbortSignal.abort(STOP) }))).toBe(STOP)
		expect(server.connections.opened).toBe(0)
	})

	test('during the lookup rejects with its reason, and a late address is not connected to', async () => {
		let found = (): void => {}
		const controller = new AbortController()
		const { server, send } = await setup(answer(), {
			lookup: (_host, _options, callback) => {
				found = () => callback(null, [{ address: '127.0.0.1', family: 4 }])
				queueMicrotask(() => controller.abort(STOP))
			},
		})
		expect(await failure(send({ signal: controller.signal }))).toBe(STOP)
		await setImmediate()
		found()
		await setImmediate()
		expect(server.connections.opened).toBe(0)
	})

	test('during the TLS handshake rejects with its reason', async () => {
		await using server = await startTlsFaultServer('hang')
		const controller = new AbortController()
		const client = setupClient([portOf(server)])
		const url = `https://${HOST}:${portOf(server)}/`
		const sent = failure(client.send(request(server, { url, signal: controller.signal })))
		await server.connected(1)
		controller.abort(STOP)
		expect(await sent).toBe(STOP)
		await server.allClosed()
	})

	test.each<readonly [string, Step, number]>([
		['while the body of the request is sent', hang('accept'), 50_000_000],
		['before the head of the response', hang(), 10],
		['during the head of the response', trickleHead(), 10],
	])('%s rejects with its reason', async (_, step, bytes) => {
		const controller = new AbortController()
		const { server, send } = await setup(step)
		const sent = failure(send({ signal: controller.signal, body: Buffer.alloc(bytes, 'x') }))
		await server.requested(1)
		controller.abort(STOP)
		expect(await sent).toBe(STOP)
		await server.allClosed()
	})

	test.each<readonly [string, Step]>([
		['after the head', hang('response-head')],
		['during the body', hang('body')],
		['during an endless body', drip()],
	])('%s of the response resolves with its status: the receiver has answered', async (_, step) => {
		const controller = new AbortController()
		const { server, send } = await setup(step, neverTimesOut())
		const statuses: number[] = []
		const onStatus = (status: number) => {
			statuses.push(status)
			queueMicrotask(() => controller.abort(STOP))
		}
		expect(await send({ signal: controller.signal, onStatus })).toMatchObject({
			status: 200,
			isTruncated: true,
		})
		expect(statuses).toEqual([200])
		await server.allClosed()
	})

	test('after the response changes nothing, and no listener is left on the signal', async () => {
		const controller = new AbortController()
		const { signal } = controller
		const { server, send } = await setup([
			answer({ body: 'ok' }),
			answer({ body: 'ok' }),
			reset('request-head'),
		])
		await send({ signal })
		expect(getEventListeners(signal, 'abort')).toEqual([])
		await send({ signal })
		expect(server.connections.opened).toBe(1)
		await failure(send({ signal }))
		expect(getEventListeners(signal, 'abort')).toEqual([])
		controller.abort(STOP)
	})
})

test('a reused connection collects no listeners', async () => {
	const { server, send } = await setup(answer({ body: 'ok' }))
	const warnings: unknown[] = []
	const onWarning = (warning: unknown) => void warnings.push(warning)
	process.on('warning', onWarning)
	onTestFinished(() => void process.off('warning', onWarning))
	for (let n = 0; n < 30; n++) await send()
	await setImmediate()
	expect(server.connections.opened).toBe(1)
	expect(warnings).toEqual([])
})

test('no connection is open after close, whatever happened before', async () => {
	const steps = [
		answer({ body: 'ok' }),
		fin('body'),
		reset('request-head'),
		hugeBody(),
		malformedHead(),
	] as const
	const { server, client, send } = await setup(steps)
	for (const _ of steps) await failure(send())
	client.close()
	await server.allClosed()
	const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')
	await eventually(() => expect(sockets()).toEqual([]))
})
