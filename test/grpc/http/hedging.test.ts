import { describe, expect, test } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import { failure } from '../../http/client/setting.ts'
import { hang } from '../../http/faults/fault-server.ts'
import { configured, failing, fine, forAll } from './configured.ts'

const HEDGING = { maxAttempts: 3, hedgingDelay: '0.05s', nonFatalStatusCodes: ['UNAVAILABLE'] }
const hedging = (changes: object = {}) => forAll({ hedgingPolicy: { ...HEDGING, ...changes } })

const hedgesIn = (events: readonly YaokiEvent[]) =>
	events.filter((event) => event.type === 'hedge').map(({ outcome, hedge }) => `${outcome} ${hedge}`)

describe('a hedging policy', () => {
	test('sends further requests, one hedgingDelay after the other, and returns the first response', async () => {
		const { client, server, clock, events } = await configured([hang(), hang(), fine], hedging(), {
			areWaitsHeld: true,
		})
		const answered = client.get('/shop.Orders/Get').text()
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		await clock.advance(50)
		expect(await answered).toBe('fine')
		expect(hedgesIn(events)).toEqual(['sent 1', 'sent 2', 'won 2'])
		await server.aborted(1)
		await server.aborted(2)
	})

	test('sends a POST several times: the service owner says that it is safe', async () => {
		const { client, server, clock } = await configured([hang(), fine], hedging(), { areWaitsHeld: true })
		const answered = client.post('/shop.Orders/Create', { json: { id: 7 } }).text()
		await server.requested(1)
		await clock.advance(50)
		expect(await answered).toBe('fine')
		expect(server.requests.map(({ body }) => body)).toEqual(['{"id":7}', '{"id":7}'])
	})

	test('with a hedgingDelay of 0 sends all requests immediately', async () => {
		const { client, server, clock } = await configured(
			[hang(), hang(), fine],
			hedging({ hedgingDelay: '0s' }),
		)
		const answered = client.get('/a/b').text()
		await server.requested(1)
		await clock.advance(0)
		expect(await answered).toBe('fine')
		expect(server.requests).toHaveLength(3)
		expect(clock.now()).toBe(0)
	})

	test('sends the next request immediately after a non-fatal failure', async () => {
		const { client, server } = await configured([failing(503), fine], hedging({ hedgingDelay: '3600s' }), {
			areWaitsHeld: true,
		})
		expect(await client.get('/a/b').text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})

	test('returns a fatal failure, and sends no more requests', async () => {
		const { client, server, clock } = await configured(failing(400), hedging(), { areWaitsHeld: true })
		expect(await failure(client.get('/a/b'))).toMatchObject({ statusCode: 400 })
		await clock.advance(1_000)
		expect(server.requests).toHaveLength(1)
	})

	test('returns the failure if all requests fail', async () => {
		const { client, server } = await configured(failing(503), hedging(), { areWaitsHeld: true })
		expect(await failure(client.get('/a/b'))).toMatchObject({ statusCode: 503 })
		expect(server.requests).toHaveLength(3)
	})

	test('sends no more requests after a response that asks not to retry', async () => {
		const script = failing(503, { 'x-should-retry': 'false' })
		const { client, server } = await configured(script, hedging(), { areWaitsHeld: true })
		expect(await failure(client.get('/a/b'))).toMatchObject({ statusCode: 503 })
		expect(server.requests).toHaveLength(1)
	})

	test('is not applied to a request that the caller declares not idempotent', async () => {
		const { client, server } = await configured(failing(503), hedging({ hedgingDelay: '0s' }))
		expect(await failure(client.get('/a/b', { yaoki: { idempotent: false } }))).toMatchObject({
			statusCode: 503,
		})
		expect(server.requests).toHaveLength(1)
	})

	test('is not applied to a body that can be sent only once', async () => {
		const { client, server } = await configured(fine, hedging({ hedgingDelay: '0s' }))
		const body = new Blob(['once']).stream()
		expect(await client.post('/a/b', { body }).text()).toBe('fine')
		expect(server.requests).toHaveLength(1)
	})

	test('ends with the timeout of the method', async () => {
		const json = forAll({ timeout: '0.2s', hedgingPolicy: HEDGING })
		const { client, server, clock } = await configured(hang(), json, { areWaitsHeld: true })
		const failed = failure(client.get('/a/b'))
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		await clock.advance(50)
		await server.requested(3)
		await clock.advance(100)
		expect(await failed).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
	})

	test('accepts a delay that is longer than a timer can wait', async () => {
		const { client } = await configured(fine, hedging({ hedgingDelay: '315576000000s' }))
		expect(await client.get('/a/b').text()).toBe('fine')
	})
})
