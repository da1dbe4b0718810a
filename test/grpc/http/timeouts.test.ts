import { expect, test } from 'vitest'
import { Deadline, explain } from 'yaoki'
import { failure } from '../../http/client/setting.ts'
import { hang } from '../../http/faults/fault-server.ts'
import { configured, failing, fine, forAll, RETRY } from './configured.ts'

test('the timeout of a method is the timeout of the whole call', async () => {
	const { client, server, clock } = await configured(hang(), forAll({ timeout: '2.5s' }))
	const failed = failure(client.get('/shop.Orders/Get'))
	await server.requested(1)
	await clock.advance(2_499)
	expect(server.requests[0]?.outcome).toBe('open')
	await clock.advance(1)
	expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 2_500 })
})

test('it spans all attempts and delays', async () => {
	const retryPolicy = { ...RETRY, initialBackoff: '0.4s', maxBackoff: '0.4s', maxAttempts: 5 }
	const { client, server, waits } = await configured(failing(503), forAll({ timeout: '1s', retryPolicy }))
	const error = await failure(client.get('/a/b'))
	expect(explain(error)).toMatchObject({ stop: 'deadline' })
	expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(1_000)
	expect(server.requests).toHaveLength(waits.length + 1)
})

test('a method with a timeout has no timeout per attempt, as in gRPC', async () => {
	const { client, server, clock } = await configured(hang(), forAll({ timeout: '60s' }))
	const failed = failure(client.get('/a/b'))
	await server.requested(1)
	await clock.advance(59_999)
	expect(server.requests[0]?.outcome).toBe('open')
	await clock.advance(1)
	expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 60_000 })
})

test('a timeout per attempt that the client sets applies beside it', async () => {
	const { client, server, clock } = await configured(hang(), forAll({ timeout: '60s' }), { timeout: 1_000 })
	const failed = failure(client.get('/a/b'))
	await server.requested(1)
	await clock.advance(1_000)
	expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 1_000 })
})

test.each([
	['the total timeout of the client', { totalTimeoutMs: 300 }, {}, 300],
	['the timeout of the method', { totalTimeoutMs: 9_000 }, {}, 1_000],
	['the total timeout of the request', {}, { totalTimeoutMs: 200 }, 200],
])('the shorter timeout applies: %s', async (_, options, yaoki, timeoutMs) => {
	const { client, server, clock } = await configured(hang(), forAll({ timeout: '1s' }), options)
	const failed = failure(client.get('/a/b', { yaoki }))
	await server.requested(1)
	await clock.advance(timeoutMs)
	expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs })
})

test('an earlier deadline of the caller applies', async () => {
	const { client, server, clock, runtime } = await configured(hang(), forAll({ timeout: '1s' }))
	const deadline = Deadline.after(100, { runtime })
	const failed = failure(client.get('/a/b', { yaoki: { deadline } }))
	await server.requested(1)
	await clock.advance(100)
	expect(await failed).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
})

test('a method without a timeout keeps the timeouts of the client', async () => {
	const { client, server, clock } = await configured(hang(), forAll({ retryPolicy: RETRY }))
	const failed = failure(client.get('/a/b'))
	await server.requested(1)
	await clock.advance(10_000)
	expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 10_000 })
})

test('the service receives the remaining time', async () => {
	const { client, server } = await configured(fine, forAll({ timeout: '2.5s' }))
	await client.get('/a/b').text()
	expect(server.requests[0]?.headers['x-request-timeout-ms']).toBe('2500')
})

test('with a timeout of 0 nothing is sent', async () => {
	const { client, server } = await configured(fine, forAll({ timeout: '0s', retryPolicy: RETRY }))
	expect(await failure(client.get('/a/b'))).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
	expect(server.requests).toEqual([])
})
