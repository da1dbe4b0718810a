import { constants } from 'node:http2'
import type { ClientOptions } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import {
	type Action,
	closeSocket,
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
} from './faulty-server.ts'
import { useUsersClient } from './users-client.ts'

const NO_RETRIES: Partial<ClientOptions> = { 'grpc.enable_retries': 0 }

const ok = stream(halfClose(), headers(), message({ text: 'a' }), trailers(0))

test('responds with a message and trailers', async () => {
	await using server = await startFaultyServer(ok)
	const client = useUsersClient(server.address)
	expect(await client.list({ text: 'q' }, { deadline: Date.now() + 60_000 })).toMatchObject([{ text: 'a' }])
	const seen = await server.done(1)
	expect(seen.path).toBe('/yaoki.test.Users/List')
	expect(seen.headers['grpc-timeout']).toMatch(/^\d+m$/)
})

test('responds with trailers only, with any pushback', async () => {
	await using server = await startFaultyServer(stream(trailersOnly(14, { 'grpc-retry-pushback-ms': 'soon' })))
	const { status } = await useUsersClient(server.address).invoke('Get', {}).done
	expect(status.code).toBe(14)
	expect(status.metadata.get('grpc-retry-pushback-ms')).toEqual(['soon'])
})

const phases: readonly (readonly [string, readonly Action[], number])[] = [
	['before headers', [], 0],
	['after headers', [headers()], 0],
	['after a message', [headers(), message({ text: 'a' })], 1],
]

test.each(phases)('resets a stream %s with the given code', async (_phase, actions, count) => {
	await using server = await startFaultyServer(stream(...actions, reset(constants.NGHTTP2_ENHANCE_YOUR_CALM)))
	const { status, items } = await useUsersClient(server.address, NO_RETRIES).invoke('List', {}).done
	expect(status.code).toBe(8)
	expect(items).toHaveLength(count)
})

test('refuses a stream, which grpc-js retries transparently', async () => {
	await using server = await startFaultyServer([stream(refuse()), ok])
	expect((await useUsersClient(server.address).get({})).text).toBe('a')
	expect(server.requests).toHaveLength(2)
})

test('closes the socket after headers', async () => {
	await using server = await startFaultyServer(stream(headers(), closeSocket()))
	expect((await useUsersClient(server.address).invoke('Get', {}).done).status.code).toBe(14)
})

test('sends GOAWAY in the middle of a stream that it finishes', async () => {
	await using server = await startFaultyServer([
		stream(headers(), message({ text: 'a' }), goAway('this'), message({ text: 'b' }), trailers(0)),
		ok,
	])
	const client = useUsersClient(server.address)
	expect(await client.list({})).toHaveLength(2)
	await client.get({})
	expect(server.connections.opened).toBe(2)
})

test('sends GOAWAY that does not cover the stream, which grpc-js retries transparently', async () => {
	await using server = await startFaultyServer([stream(goAway('previous'), closeSocket('fin')), ok])
	expect((await useUsersClient(server.address).get({})).text).toBe('a')
	expect(server.connections.opened).toBe(2)
})

test('sends headers and then nothing', async () => {
	await using server = await startFaultyServer(stream(headers({ 'x-a': 'b' })))
	const call = useUsersClient(server.address).invoke('Get', {})
	await new Promise((resolve) => call.call.once('metadata', resolve))
	call.cancel()
	await call.done
	await server.aborted(1)
})
