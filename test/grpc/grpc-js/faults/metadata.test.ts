/** Metadata that HTTP/2 cannot send, and metadata that changes while a call is retried. */
import { Metadata } from '@grpc/grpc-js'
import { describe, expect, test, vi } from 'vitest'
import { explain } from 'yaoki'
import { retries } from '../../support/configs.ts'
import { FakeClient } from '../../support/fake-caller.ts'

/** As grpc-js stores it. Its methods do not accept every value. */
function stored(values: Readonly<Record<string, readonly unknown[]>>): Metadata {
	const metadata = new Metadata()
	const map = Reflect.get(metadata, 'internalRepr') as Map<string, unknown>
	for (const [key, list] of Object.entries(values)) map.set(key, list)
	return metadata
}

describe('metadata that cannot be sent ends the call with INTERNAL, and nothing is sent', () => {
	test.each([
		['a value that is not ASCII', { 'x-a': ['é'] }],
		['an emoji', { 'x-a': ['fine', '😀'] }],
		['a line break', { 'x-a': ['a\r\nb: c'] }],
		['a null character', { 'x-a': ['a\0b'] }],
		['a tab', { 'x-a': ['a\tb'] }],
		['a header of the connection', { connection: ['keep-alive'] }],
		['another header of the connection', { 'transfer-encoding': ['chunked'] }],
		['a key with a colon', { 'a:b': ['c'] }],
		['two values of a header that has one', { etag: ['a', 'b'] }],
		['two authorizations', { authorization: ['a', 'b'] }],
	])('%s', async (_, values) => {
		const client = new FakeClient({ serviceConfig: retries(3), circuitBreaker: { failureThreshold: 1 } })
		const events = vi.fn()
		client.interceptor.subscribe(events)
		const call = client.start({ metadata: stored(values) })
		call.send('a')
		call.halfClose()
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 13'])
		expect(call.status?.details).toContain(`metadata "${Object.keys(values)[0]}"`)
		expect(call.attempts).toEqual([])
		expect(call.acknowledged).toEqual([1])
		expect(explain(call.error)).toMatchObject({ stop: 'permanent', attempts: [] })
		expect(client.interceptor.stats).toMatchObject({ calls: 1, failures: 1, attempts: 0, bufferedBytes: 0 })
		expect(client.interceptor.stats.circuits['']).toMatchObject({ state: 'closed' })
		expect(events.mock.calls.flat()).toMatchObject([
			{ type: 'call', outcome: 'failure', attempts: 0, grpcStatus: 'INTERNAL', method: 'Chat' },
		])
	})
})

describe('metadata that grpc-js sends is sent', () => {
	test.each([
		['a number', { 'x-a': [5] }],
		['nothing', { 'x-a': [undefined] }],
		['an empty value', { 'x-a': [''] }],
		['spaces', { 'x-a': [' a b '] }],
		['several values', { 'x-a': ['a', 'b'], cookie: ['a=1', 'b=2'] }],
		['bytes', { 'x-bin': [Buffer.from([0, 255])] }],
		['a key that grpc-js leaves out', { ':path': ['/'] }],
		[
			'headers that grpc-js sets itself',
			{ te: ['gzip'], 'user-agent': ['a', 'b'], 'content-type': ['a', 'b'] },
		],
	])('%s', async (_, values) => {
		const client = new FakeClient()
		const call = client.start({ metadata: stored(values) })
		expect(call.attempt(1).metadata.toJSON()).toEqual(stored(values).toJSON())
		call.attempt(1).end(0)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 0'])
	})
})

describe('the metadata of a retry', () => {
	test('is that of the start of the call, whatever the caller does with it afterwards', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const metadata = new Metadata({ waitForReady: true })
		metadata.set('x-request', '1')
		const call = client.start({ metadata })
		metadata.set('x-request', '2')
		call.attempt(1).end(14)
		await client.clock.advance(200)
		expect(call.attempts.map((attempt) => attempt.metadata.get('x-request'))).toEqual([['1'], ['1']])
		expect(call.attempt(2).metadata.getOptions()).toEqual({ waitForReady: true })
		call.cancel()
		await client.clock.runUntilIdle()
	})

	test('is that of the start of the call, also if it had to wait in the bulkhead queue', async () => {
		const client = new FakeClient({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		const first = client.start()
		const metadata = new Metadata()
		metadata.set('x-request', '1')
		const queued = client.start({ metadata })
		metadata.set('x-request', '2')
		first.attempt(1).end(0)
		await client.clock.advance(0)
		expect(queued.attempt(1).metadata.get('x-request')).toEqual(['1'])
		queued.attempt(1).end(0)
		await client.clock.runUntilIdle()
	})

	test('does not contain what an interceptor further in has added to the attempt before', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		let token = 0
		const call = client.start({
			onAttempt: (attempt) => {
				const start = attempt.start.bind(attempt)
				attempt.start = (metadata, listener) => {
					if (metadata instanceof Metadata) metadata.add('authorization', `token ${++token}`)
					start(metadata, listener)
				}
			},
		})
		for (const number of [1, 2]) {
			call.attempt(number).end(14)
			await client.clock.advance(500)
		}
		expect(call.attempts.map((attempt) => attempt.metadata.get('authorization'))).toEqual([
			['token 1'],
			['token 2'],
			['token 3'],
		])
		call.cancel()
		await client.clock.runUntilIdle()
	})
})
