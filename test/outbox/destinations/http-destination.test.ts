import { expect, test } from 'vitest'
import { classify, HttpError } from 'yaoki'
import {
	type DeliveryContext,
	type HttpDestinationOptions,
	httpDestination,
	type Message,
} from 'yaoki/outbox'
import { answer, hang, refusedUrl, reset, startFaultServer } from '../../http/faults/fault-server.ts'
import { eventually } from '../../support/eventually.ts'
import { setup, type TestSystem } from '../relay/setup.ts'

const MESSAGE: Message = {
	id: '019b76db-1d30-709f-b51c-77633ed7a20f',
	topic: 'order.created',
	destination: 'billing',
	key: 'order 7/ü',
	sequence: 41,
	payload: { total: 12, name: '注文' },
	headers: { Traceparent: '00-1', 'X-Own': 'message' },
	attempts: 1,
	createdAt: new Date(0),
	expiresAt: undefined,
}
const context = (signal = new AbortController().signal): DeliveryContext => ({ signal, attempt: 0 })

const deliver = (options: HttpDestinationOptions, message: Message = MESSAGE, signal?: AbortSignal) =>
	httpDestination(options).deliver(message, context(signal))

/** Advances the clock until the check passes: sockets are real, so responses arrive at any time. */
const until = (system: TestSystem, holds: () => void | Promise<void>) =>
	eventually(async () => {
		await system.clock.advance(1)
		await holds()
	})

test('sends a POST with the payload as JSON, the id as Idempotency-Key, and topic, key and headers', async () => {
	await using server = await startFaultServer()
	await deliver({
		url: server.url('/orders'),
		headers: { 'x-own': 'destination', authorization: 'Bearer x' },
	})
	const [request] = server.requests
	expect(request).toMatchObject({ method: 'POST', path: '/orders' })
	expect(JSON.parse(request?.body ?? '')).toEqual(MESSAGE.payload)
	expect(request?.headers).toMatchObject({
		'content-type': 'application/json',
		'idempotency-key': MESSAGE.id,
		'x-message-topic': 'order.created',
		'x-message-key': 'order%207%2F%C3%BC',
		'x-message-sequence': '41',
		traceparent: '00-1',
		'x-own': 'destination',
		authorization: 'Bearer x',
	})
})

test('percent-encodes topics and header values outside Latin-1 (regression: the message became a dead letter)', async () => {
	await using server = await startFaultServer()
	const headers = { 'X-Name': '注文 50 %', 'x-city': 'Zürich 50 %' }
	await deliver(
		{ url: server.url(), headers: { 'x-own': 'はい' } },
		{ ...MESSAGE, topic: '注文/作成.v1', headers },
	)
	const [request] = server.requests
	expect(request?.headers).toMatchObject({
		'x-message-topic': encodeURIComponent('注文/作成.v1'),
		'x-name': encodeURIComponent('注文 50 %'),
		'x-own': encodeURIComponent('はい'),
		// Latin-1 is sent unchanged.
		'x-city': 'Zürich 50 %',
	})
})

test('url and headers may be functions of the message; the idempotency key cannot be overridden', async () => {
	await using server = await startFaultServer()
	await deliver({
		url: ({ topic }) => new URL(`/${topic}`, server.origin),
		headers: ({ id }) => ({ 'X-Id': id, 'Idempotency-Key': 'mine' }),
	})
	const [request] = server.requests
	expect(request?.path).toBe('/order.created')
	expect(request?.headers).toMatchObject({ 'x-id': MESSAGE.id, 'idempotency-key': MESSAGE.id })
})

test.each([200, 201, 202, 204])('a message is sent if the status is %i', async (status) => {
	await using server = await startFaultServer(answer({ status }))
	await expect(deliver({ url: server.url() })).resolves.toBeUndefined()
})

test.each([400, 404, 500, 503])(
	'a %i is an HttpError after a single request, because the relay retries',
	async (status) => {
		await using server = await startFaultServer(answer({ status, body: 'why' }))
		const error = await Promise.resolve(deliver({ url: server.url() })).catch((thrown: unknown) => thrown)
		expect(error).toBeInstanceOf(HttpError)
		expect(error).toMatchObject({ statusCode: status, body: 'why' })
		expect(server.requests).toHaveLength(1)
	},
)

test.each([301, 302, 303, 307, 308])(
	'a redirect is not followed, for a GET in its place would lose the message: %i',
	async (status) => {
		// Regression: fetch turned the POST into a GET, which returned 200, and the message was lost.
		await using server = await startFaultServer({
			'/': answer({ status, headers: { location: '/elsewhere' } }),
			'/elsewhere': answer(),
		})
		await expect(deliver({ url: server.url() })).rejects.toMatchObject({ statusCode: status })
		expect(server.requests).toHaveLength(1)
	},
)

test('an abort ends the request', async () => {
	await using server = await startFaultServer(hang())
	const controller = new AbortController()
	const sent = Promise.resolve(deliver({ url: server.url() }, MESSAGE, controller.signal)).catch(
		(error: unknown) => error,
	)
	await server.requested(1)
	const reason = new Error('enough')
	controller.abort(reason)
	expect(await sent).toBe(reason)
	await server.aborted(1)
})

test('a response with a broken body counts as sent', async () => {
	await using server = await startFaultServer(reset('body'))
	await expect(deliver({ url: server.url() })).resolves.toBeUndefined()
})

test('uses a custom fetch', async () => {
	const urls: string[] = []
	await deliver({
		url: 'http://nowhere.test/x',
		fetch: async (url) => {
			urls.push(String(url))
			return new Response(null, { status: 204 })
		},
	})
	expect(urls).toEqual(['http://nowhere.test/x'])
})

test.each<[string, unknown, string]>([
	['nothing', undefined, 'options'],
	['no url', {}, 'url'],
	['another protocol', { url: 'ftp://a/b' }, 'url'],
	['a relative URL', { url: '/orders' }, 'url'],
	['invalid headers', { url: 'http://a/', headers: 'x' }, 'headers'],
	['headers that are no strings', { url: 'http://a/', headers: { 'x-a': 5 } }, 'headers'],
	['an invalid fetch', { url: 'http://a/', fetch: 5 }, 'fetch'],
	['a method without a body', { url: 'http://a/', method: 'GET' }, 'method'],
	['a method in lower case', { url: 'http://a/', method: 'put' }, 'method'],
	['an invalid dispatcher', { url: 'http://a/', dispatcher: {}, fetch }, 'dispatcher'],
	['a dispatcher without its fetch', { url: 'http://a/', dispatcher: { dispatch: () => true } }, 'fetch'],
])('rejects %s', (_, options, optionPath) => {
	expect(() => httpDestination(options as HttpDestinationOptions)).toThrow(
		expect.objectContaining({ optionPath }),
	)
})

test('rejects a URL with credentials when it is created, and does not show them', () => {
	const url = 'https://ann:s3cret@example.com/orders?token=s3cret'
	expect(() => httpDestination({ url })).toThrow(
		expect.objectContaining({ optionPath: 'url', received: 'https://example.com/orders' }),
	)
	expect(() => httpDestination({ url })).not.toThrow(/s3cret/)
})

test('passes destination options on', () => {
	const options = { maxConcurrent: 3, order: true, retry: { maxRetries: 2 }, timeoutMs: 5 }
	expect(httpDestination({ url: 'http://a/', ...options })).toMatchObject(options)
})

test.each([
	['header', { header: {} }, 'headers'],
	['maxConcurent', { maxConcurent: 3 }, 'maxConcurrent'],
	['deliver', { deliver: () => {} }, undefined],
])('rejects the unknown option %s when it is created, with the nearest name', (name, more, suggestion) => {
	const options = { url: 'http://a/', ...more }
	expect(() => httpDestination(options)).toThrow(
		expect.objectContaining({ optionPath: name, isUnknown: true, suggestion, owner: 'httpDestination' }),
	)
})

test('a relay retries failures with the same idempotency key', async () => {
	await using server = await startFaultServer([answer({ status: 500 }), reset('request-head'), answer()])
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	await system.relay(
		{ jobs: httpDestination({ url: server.url() }) },
		{ retry: { baseDelayMs: 5, jitterStrategy: 'none' }, timeoutMs: 3_600_000 },
	)
	await until(system, () => expect(system.eventsOf('relay_sent')).toHaveLength(1))
	expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([id, id, id])
	expect(system.eventsOf('relay_sent')).toMatchObject([{ attempts: 3 }])
})

test('a 4xx becomes a dead letter immediately', async () => {
	await using server = await startFaultServer(answer({ status: 422, body: 'no such order' }))
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	await system.relay({ jobs: httpDestination({ url: server.url() }) }, { timeoutMs: 3_600_000 })
	await until(system, () => expect(system.eventsOf('relay_dead_letter')).toHaveLength(1))
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'permanent', attempts: 1 })
	expect(server.requests).toHaveLength(1)
})

test.each([429, 503])('a %i with Retry-After pauses the whole destination', async (status) => {
	await using server = await startFaultServer([
		answer({ status, headers: { 'retry-after': '60' } }),
		answer(),
	])
	await using system = await setup()
	await system.enqueue(5)
	const destination = httpDestination({ url: server.url(), maxConcurrent: 1 })
	await system.relay({ jobs: destination }, { timeoutMs: 3_600_000, rampUpMs: 0, pollMs: 3_600_000 })
	await until(system, () => expect(system.eventsOf('relay_paused')).toHaveLength(1))
	expect(system.eventsOf('relay_paused')).toMatchObject([{ reason: 'retry-after', pausedForMs: 60_000 }])
	await system.clock.advance(59_000)
	expect(server.requests).toHaveLength(1)
	// The message itself waits for up to a quarter longer: jitter comes on top of its Retry-After.
	await system.clock.advance(16_000)
	await until(system, () => expect(system.eventsOf('relay_sent')).toHaveLength(5))
})

test('a hung request is aborted after the timeout', async () => {
	await using server = await startFaultServer(hang())
	await using system = await setup()
	await system.enqueue(1)
	await system.relay({ jobs: httpDestination({ url: server.url(), timeoutMs: 5_000 }) })
	await system.clock.advance(100)
	await server.requested(1)
	await system.clock.advance(5_000)
	await server.aborted(1)
	expect(system.eventsOf('relay_retry_scheduled')).toMatchObject([{ errorType: 'TimeoutError' }])
})

test('refused connections open the circuit', async () => {
	const url = await refusedUrl()
	await using system = await setup()
	await system.enqueue(20)
	const destination = httpDestination({ url, maxConcurrent: 1, circuitBreaker: { failureThreshold: 2 } })
	await system.relay({ jobs: destination }, { timeoutMs: 3_600_000 })
	await until(system, () => expect(system.eventsOf('relay_state_change')).toHaveLength(1))
	const left = await system.outbox.list()
	expect(left.filter(({ attempts }) => attempts > 0)).toHaveLength(2)
	expect(left.find(({ attempts }) => attempts > 0)?.lastError?.message).toContain('ECONNREFUSED')
})

test('a 409 with Retry-After is retried (regression: the message became a dead letter)', async () => {
	await using server = await startFaultServer(answer({ status: 409, headers: { 'retry-after': '7' } }))
	const error = await Promise.resolve(deliver({ url: server.url() })).catch((thrown: unknown) => thrown)
	expect(error).toMatchObject({ name: 'OutboxInProgressError', retryAfterMs: 7_000 })
	expect(classify(error)).toMatchObject({ kind: 'transient', retryAfterMs: 7_000 })
})

test('a 409 with Retry-After uses no attempt and does not count for the circuit (regression: the message became a dead letter after ten)', async () => {
	const busy = answer({ status: 409, headers: { 'retry-after': '2' } })
	await using server = await startFaultServer([
		busy,
		...Array<typeof busy>(14).fill(busy),
		answer({ status: 201 }),
	])
	await using system = await setup()
	await system.enqueue(1)
	const destination = httpDestination({
		url: server.url(),
		retry: { maxRetries: 1 },
		circuitBreaker: { failureThreshold: 2 },
	})
	await system.relay({ jobs: destination }, { timeoutMs: 3_600_000, pollMs: 1_000 })
	await eventually(async () => {
		await system.clock.advance(500)
		expect(system.eventsOf('relay_sent')).toMatchObject([{ attempts: 1 }])
	})
	expect(system.eventsOf('relay_released').map(({ reason }) => reason)).toEqual(Array(15).fill('in-progress'))
	expect(system.eventsOf('relay_state_change')).toEqual([])
	expect(system.eventsOf('relay_dead_letter')).toEqual([])
})

test('a Retry-After of hours reaches the relay and does not delay later messages in the client', async () => {
	await using server = await startFaultServer(answer({ status: 429, headers: { 'retry-after': '7200' } }))
	const destination = httpDestination({ url: server.url() })
	for (const _ of [1, 2]) {
		const error = await Promise.resolve(destination.deliver(MESSAGE, context())).catch(
			(thrown: unknown) => thrown,
		)
		expect(error).toMatchObject({ statusCode: 429, retryAfterMs: 7_200_000 })
	}
	expect(server.requests).toHaveLength(2)
})
