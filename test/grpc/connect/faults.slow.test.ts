/** Servers that break the protocol or the connection, on raw HTTP/2. */
import { constants } from 'node:http2'
import { createServer } from 'node:net'
import { Code } from '@connectrpc/connect'
import { describe, expect, onTestFinished, test } from 'vitest'
import { explain } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { listen } from '../../support/listen.ts'
import {
	closeSocket,
	type FaultyServer,
	goAway,
	halfClose,
	headers,
	message,
	refuse,
	reset,
	startFaultyServer,
	stream,
	trailers,
	trailersOnly,
} from '../support/faulty-server.ts'
import { retrying, timingOut } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { useClient } from './setup.ts'

const ok = stream(halfClose(), headers(), message({ text: 'a' }), trailers(0))

async function useFaultyServer(
	...steps: Parameters<typeof startFaultyServer>
): Promise<FaultyServer & { http2Url: string }> {
	const server = await startFaultyServer(...steps)
	onTestFinished(() => server.close())
	return Object.assign(server, { http2Url: server.origin })
}

describe.each(METHODS)('%s', (method) => {
	test('a refused stream is sent again once, as the same attempt', async () => {
		const server = await useFaultyServer([stream(refuse()), ok])
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		const { items, error } = await client.invoke(method, { text: 'q' })
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'a' }])
		expect(server.requests.map((request) => request.headers['grpc-previous-rpc-attempts'])).toEqual([
			undefined,
			undefined,
		])
		expect(interceptor.stats).toMatchObject({ attempts: 1, failures: 0 })
	})

	test('a stream that is refused again is Unavailable for the policy', async () => {
		const server = await useFaultyServer([stream(refuse()), stream(refuse()), ok])
		const { client, events } = useClient(server, { serviceConfig: retrying() })
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
		expect(events.find(({ type }) => type === 'retry_attempt')).toMatchObject({ grpcStatus: 'UNAVAILABLE' })
	})

	test('a reset before the headers is retried if the policy names its code', async () => {
		const server = await useFaultyServer([stream(reset(constants.NGHTTP2_INTERNAL_ERROR)), ok])
		const { client } = useClient(server, { serviceConfig: retrying({ codes: ['INTERNAL'] }) })
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
	})

	test('a lost connection is Unavailable for the policy', async () => {
		const server = await useFaultyServer([stream(closeSocket()), ok])
		const { client } = useClient(server, { serviceConfig: retrying() })
		const { items, error } = await client.invoke(method, { text: 'q' })
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'a' }])
	})

	test('GOAWAY that covers the stream lets it finish', async () => {
		const server = await useFaultyServer([
			stream(goAway('this'), halfClose(), headers(), message({ text: 'a' }), trailers(0)),
			ok,
		])
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
		expect(interceptor.stats.attempts).toBe(2)
	})

	test('GOAWAY that does not cover the stream sends it again', async () => {
		const server = await useFaultyServer([stream(goAway('previous')), ok])
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
		expect(interceptor.stats.attempts).toBe(1)
	})

	test('an unparseable pushback in a trailers-only response forbids a retry', async () => {
		const server = await useFaultyServer([stream(trailersOnly(14, { 'grpc-retry-pushback-ms': 'soon' }))])
		const { client } = useClient(server, { serviceConfig: retrying() })
		const { error } = await client.invoke(method, {})
		expect(error?.code).toBe(Code.Unavailable)
		expect(explain(error)).toMatchObject({ stop: 'server-veto' })
	})

	test('headers and then silence end at the deadline', async () => {
		const server = await useFaultyServer([stream(headers())])
		const runtime = virtualRuntime()
		const { client } = useClient(server, { serviceConfig: timingOut('60s'), runtime })
		const call = client.invoke(method, {})
		await server.requested(1)
		await runtime.advance(60_000)
		expect((await call).error?.code).toBe(Code.DeadlineExceeded)
	})
})

test('a refused unary call is sent again without a retry policy', async () => {
	const server = await useFaultyServer([stream(refuse()), ok])
	const { client } = useClient(server)
	expect((await client.invoke('Get', {})).items).toMatchObject([{ text: 'a' }])
})

test('a reset after a message is not retried', async () => {
	const server = await useFaultyServer([stream(halfClose(), headers(), message({ text: 'a' }), reset()), ok])
	const { client } = useClient(server, { serviceConfig: retrying({ codes: ['CANCELLED', 'UNAVAILABLE'] }) })
	const { items, error } = await client.invoke('List', {})
	expect(items).toHaveLength(1)
	expect(error).toBeDefined()
	expect(explain(error)).toMatchObject({ stop: 'committed' })
})

test('headers that are followed by nothing commit the call', async () => {
	const { promise: mayFail, resolve: failNow } = Promise.withResolvers<void>()
	const server = await useFaultyServer([stream(headers({ 'x-h': '1' }), () => mayFail, trailers(14)), ok])
	const runtime = virtualRuntime()
	const { client } = useClient(server, { serviceConfig: retrying(), runtime })
	const { promise: header, resolve: onHeader } = Promise.withResolvers<Headers>()
	const call = client.invoke('Chat', {}, { onHeader })
	// The wait for the first message begins when the headers have arrived, which a test cannot see.
	const advance = setInterval(() => void runtime.advance(100), 5)
	onTestFinished(() => clearInterval(advance))
	expect((await header).get('x-h')).toBe('1')
	failNow()
	const { error } = await call
	expect(error?.code).toBe(Code.Unavailable)
	expect(explain(error)).toMatchObject({ stop: 'committed' })
})

test('a port without a server is Unavailable, and retried', async () => {
	const closed = createServer()
	const port = await listen(closed)
	await new Promise((resolve) => closed.close(resolve))
	const { client } = useClient({ http2Url: `http://127.0.0.1:${port}` }, { serviceConfig: retrying() })
	const { error } = await client.invoke('List', {})
	expect(error?.code).toBe(Code.Unavailable)
	expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
})
