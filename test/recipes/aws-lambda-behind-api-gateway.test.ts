import type { APIGatewayProxyEvent, APIGatewayProxyEventV2WithJWTAuthorizer, Context } from 'aws-lambda'
import { Pool } from 'pg'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type IdempotencyOptions, postgresIdempotencyStore } from 'yaoki/idempotency'
import { startPostgres } from '../support/real-postgres.ts'
import {
	type ApiEvent,
	type ApiResult,
	toRequest,
	toResult,
} from './.cache/aws-lambda-behind-api-gateway/api-gateway.ts'
import type * as Handler from './.cache/aws-lambda-behind-api-gateway/handler.ts'
import { expectSoon, setRecipe, startHeldService } from './support/idempotency.ts'
import { headersOf, json, startServer } from './support/services.ts'

const postgres = await startPostgres()
const { user, password, host, port, database } = postgres.connection
const databaseUrl = `postgres://${user}:${password}@${host}:${port}/${database}`
const pool = new Pool({ connectionString: databaseUrl })
const store = postgresIdempotencyStore({ client: pool })
await store.migrate()

const pools: Pool[] = []
afterAll(async () => {
	await Promise.all([pool, ...pools].map((each) => each.end()))
	await postgres[Symbol.asyncDispose]()
})
beforeEach(async () => {
	await pool.query('TRUNCATE yaoki.idempotency_keys')
})

/** Each import is an execution environment of its own. */
async function startEnvironment(
	apiUrl: string,
	options: Partial<IdempotencyOptions<unknown, never>> = {},
): Promise<typeof Handler> {
	setRecipe({ API_URL: apiUrl, DATABASE_URL: databaseUrl, AWS_LAMBDA_FUNCTION_NAME: 'charges' }, options)
	vi.doMock('pg', () => ({
		Pool: class extends Pool {
			constructor(config: ConstructorParameters<typeof Pool>[0]) {
				super(config)
				pools.push(this)
			}
		},
	}))
	onTestFinished(() => vi.doUnmock('pg'))
	return import('./.cache/aws-lambda-behind-api-gateway/handler.ts')
}

function contextOf(timeoutMs = 60_000): Context {
	const end = performance.now() + timeoutMs
	const context: Partial<Context> = {
		functionName: 'charges',
		awsRequestId: '8f2d7a40-0c5b-4a57-9a43-7d3f0c1f7c11',
		getRemainingTimeInMillis: () => Math.max(0, Math.round(end - performance.now())),
	}
	return context as Context
}

interface Sent {
	readonly key?: string
	readonly sub?: string
	readonly body?: string
	readonly isBase64Encoded?: boolean
}

/** As an HTTP API with a JWT authorizer sends it, payload format 2.0. */
function httpApiEvent({
	key = 'k1',
	sub = 'ada',
	body = '{"amount":5}',
	isBase64Encoded = false,
}: Sent = {}) {
	return {
		version: '2.0',
		routeKey: 'POST /charges',
		rawPath: '/charges',
		rawQueryString: 'currency=EUR&tag=a&tag=b',
		cookies: ['session=s1', 'theme=dark'],
		headers: {
			accept: '*/*',
			'content-length': String(body.length),
			'content-type': 'application/json',
			host: 'abc123.execute-api.eu-central-1.amazonaws.com',
			'idempotency-key': key,
			'x-forwarded-for': '203.0.113.7',
			'x-forwarded-port': '443',
			'x-forwarded-proto': 'https',
		},
		queryStringParameters: { currency: 'EUR', tag: 'a,b' },
		requestContext: {
			accountId: '123456789012',
			apiId: 'abc123',
			authorizer: { jwt: { claims: { sub, iss: 'https://idp.example.com' }, scopes: null } },
			domainName: 'abc123.execute-api.eu-central-1.amazonaws.com',
			domainPrefix: 'abc123',
			http: {
				method: 'POST',
				path: '/charges',
				protocol: 'HTTP/1.1',
				sourceIp: '203.0.113.7',
				userAgent: 'curl/8.7.1',
			},
			requestId: 'JKJaXmPLvHcESHA=',
			routeKey: 'POST /charges',
			stage: '$default',
			time: '18/Nov/2026:10:40:57 +0000',
			timeEpoch: 1_794_998_457_000,
		},
		body,
		isBase64Encoded,
	} as unknown as APIGatewayProxyEventV2WithJWTAuthorizer
}

/** As a REST API with a Cognito authorizer sends it, payload format 1.0. */
function restApiEvent({
	key = 'k1',
	sub = 'ada',
	body = '{"amount":5}',
	isBase64Encoded = false,
}: Sent = {}) {
	const headers = {
		Accept: '*/*',
		'Content-Type': 'application/json',
		Cookie: 'session=s1; theme=dark',
		Host: 'def456.execute-api.eu-central-1.amazonaws.com',
		'Idempotency-Key': key,
		'X-Forwarded-For': '203.0.113.7, 203.0.113.8',
	}
	return {
		resource: '/charges',
		path: '/charges',
		httpMethod: 'POST',
		headers,
		multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
		queryStringParameters: { currency: 'EUR', tag: 'b' },
		multiValueQueryStringParameters: { currency: ['EUR'], tag: ['a', 'b'] },
		pathParameters: null,
		stageVariables: null,
		requestContext: {
			accountId: '123456789012',
			apiId: 'def456',
			authorizer: { claims: { sub, 'cognito:username': sub } },
			httpMethod: 'POST',
			identity: { sourceIp: '203.0.113.7', userAgent: 'curl/8.7.1' },
			path: '/prod/charges',
			protocol: 'HTTP/1.1',
			requestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
			requestTimeEpoch: 1_794_998_457_000,
			resourceId: '123456',
			resourcePath: '/charges',
			stage: 'prod',
		},
		body,
		isBase64Encoded,
	} as unknown as APIGatewayProxyEvent
}

/** The headers of a result, of both kinds. */
const headersIn = (result: ApiResult): Headers => {
	const lists = 'multiValueHeaders' in result ? result.multiValueHeaders : result.headers
	return new Headers(Object.entries(lists ?? {}).map(([name, value]) => [name, String(value)]))
}

const seen = (result: ApiResult) =>
	[result.statusCode, result.body, headersIn(result).has('idempotency-replayed')] as const

const KINDS = [
	['an HTTP API', httpApiEvent],
	['a REST API', restApiEvent],
] as const

describe.each(KINDS)('behind %s', (_, eventOf) => {
	test('charges once for each user and key, in all environments', async () => {
		const service = await startServer([json({ id: 'c1' }), json({ id: 'c2' }), json({ id: 'c3' })])
		const first = await startEnvironment(service.origin)
		const second = await startEnvironment(service.origin)
		const created = await first.handler(eventOf(), contextOf())
		const again = await second.handler(eventOf(), contextOf())
		expect(headersIn(created).get('content-type')).toBe('application/json')
		expect(headersIn(again).get('content-type')).toBe('application/json')
		expect(seen(created)).toEqual([201, '{"id":"c1"}', false])
		expect(seen(again)).toEqual([201, '{"id":"c1"}', true])
		expect(created.isBase64Encoded).toBe(false)
		expect(seen(await second.handler(eventOf({ sub: 'bob' }), contextOf()))).toEqual([
			201,
			'{"id":"c2"}',
			false,
		])
		expect(seen(await first.handler(eventOf({ key: 'k2' }), contextOf()))).toEqual([
			201,
			'{"id":"c3"}',
			false,
		])
		expect(service.requests).toHaveLength(3)
		expect(new Set(headersOf(service, 'idempotency-key')).size).toBe(3)
		expect(service.requests[0]?.body).toBe('{"amount":5}')
	})

	test('a request gets 409 with Retry-After while the first one runs', async () => {
		const { service, respond } = await startHeldService()
		const first = await startEnvironment(service.origin)
		const second = await startEnvironment(service.origin, { waitMs: 0 })
		const running = first.handler(eventOf(), contextOf())
		await service.requested(1)
		const rejected = await second.handler(eventOf(), contextOf())
		expect(rejected.statusCode).toBe(409)
		expect(JSON.parse(rejected.body ?? '')).toMatchObject({ code: 'request-in-progress' })
		expectSoon(headersIn(rejected).get('retry-after'))
		respond()
		expect(seen(await running)).toEqual([201, '{"id":"c1"}', false])
		expect(service.requests).toHaveLength(1)
	})

	test('another body gets 422, and a request without a caller 401', async () => {
		const service = await startServer(json({ id: 'c1' }))
		const { handler } = await startEnvironment(service.origin)
		await handler(eventOf(), contextOf())
		const other = await handler(eventOf({ body: '{"amount":6}' }), contextOf())
		expect([other.statusCode, JSON.parse(other.body ?? '')]).toMatchObject([
			422,
			{ code: 'idempotency-key-reused' },
		])
		expect((await handler(eventOf({ sub: '' }), contextOf())).statusCode).toBe(401)
		expect(service.requests).toHaveLength(1)
	})

	test('a handler that throws gets 500, and the next request with the key runs', async () => {
		const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
		const service = await startServer([json({}, 400), json({ id: 'c1' })])
		const { handler } = await startEnvironment(service.origin)
		expect((await handler(eventOf(), contextOf())).statusCode).toBe(500)
		expect(printed).toHaveBeenCalledTimes(1)
		expect(seen(await handler(eventOf(), contextOf()))).toEqual([201, '{"id":"c1"}', false])
		const [sent, again] = headersOf(service, 'idempotency-key')
		expect(again).toBe(sent)
	})

	test('a body in base64 is the same request as its text', async () => {
		const service = await startServer(json({ id: 'c1' }))
		const { handler } = await startEnvironment(service.origin)
		const encoded = { body: Buffer.from('{"amount":5}').toString('base64'), isBase64Encoded: true }
		expect(seen(await handler(eventOf(encoded), contextOf()))).toEqual([201, '{"id":"c1"}', false])
		expect(seen(await handler(eventOf(), contextOf()))).toEqual([201, '{"id":"c1"}', true])
		expect(service.requests[0]?.body).toBe('{"amount":5}')
	})

	test('the request has the method, path, query, headers and cookies of the event', async () => {
		const request = toRequest(eventOf())
		const { pathname, searchParams } = new URL(request.url)
		expect([request.method, pathname, [...searchParams]]).toEqual([
			'POST',
			'/charges',
			[
				['currency', 'EUR'],
				['tag', 'a'],
				['tag', 'b'],
			],
		])
		expect(request.headers.get('idempotency-key')).toBe('k1')
		expect(request.headers.get('cookie')).toBe('session=s1; theme=dark')
		expect(await request.text()).toBe('{"amount":5}')
	})

	test('bytes that are no text are returned as base64', async () => {
		const bytes = new Uint8Array([0xff, 0xd8, 0xff, 0x00])
		const result = await toResult(eventOf(), new Response(bytes))
		expect([result.isBase64Encoded, result.body]).toEqual([true, Buffer.from(bytes).toString('base64')])
	})

	test('an invocation without time for a response runs nothing', async () => {
		vi.spyOn(console, 'error').mockImplementation(() => {})
		const service = await startServer(json({ id: 'c1' }))
		const { handler } = await startEnvironment(service.origin)
		expect((await handler(eventOf(), contextOf(400))).statusCode).toBe(500)
		expect(service.requests).toHaveLength(0)
	})
})

test('cookies are a list of their own for an HTTP API, and a header with several values for a REST API', async () => {
	const headers = new Headers([
		['set-cookie', 'a=1; Path=/'],
		['set-cookie', 'b=2, c'],
		['location', '/charges/c1'],
	])
	const resultFor = (event: ApiEvent) => toResult(event, new Response(null, { status: 204, headers }))
	const cookies = ['a=1; Path=/', 'b=2, c']
	expect(await resultFor(httpApiEvent())).toEqual({
		statusCode: 204,
		body: '',
		isBase64Encoded: false,
		headers: { location: '/charges/c1' },
		cookies,
	})
	expect(await resultFor(restApiEvent())).toEqual({
		statusCode: 204,
		body: '',
		isBase64Encoded: false,
		multiValueHeaders: { location: ['/charges/c1'], 'set-cookie': cookies },
	})
})

/** A store that rejects completions while it is away. */
function awayStore() {
	const away = postgresIdempotencyStore({ client: pool })
	const complete = away.complete.bind(away)
	let isAway = true
	const { promise: isRepeated, resolve: repeats } = Promise.withResolvers<void>()
	const completed = vi.spyOn(away, 'complete').mockImplementation(async (...args) => {
		if (!isAway) return complete(...args)
		if (completed.mock.calls.length === 10) repeats()
		throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
	})
	const comeBack = () => {
		isAway = false
	}
	return { store: away, isRepeated, comeBack }
}

test('an invocation whose store is away at its end waits until the response is stored', async () => {
	const service = await startServer(json({ id: 'c1' }))
	const away = awayStore()
	const { handler } = await startEnvironment(service.origin, { store: away.store, storeTimeoutMs: 20 })
	const running = handler(httpApiEvent(), contextOf())
	expect(await Promise.race([running, away.isRepeated.then(() => 'waits')])).toBe('waits')
	away.comeBack()
	expect(seen(await running)).toEqual([201, '{"id":"c1"}', false])
	const other = await startEnvironment(service.origin)
	expect(seen(await other.handler(httpApiEvent(), contextOf()))).toEqual([201, '{"id":"c1"}', true])
})

test('an invocation whose store stays away responds before its time is over', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const service = await startServer(json({ id: 'c1' }))
	const away = awayStore()
	const { handler } = await startEnvironment(service.origin, { store: away.store, storeTimeoutMs: 20 })
	const result = await handler(httpApiEvent(), contextOf(2_000))
	// 500 if the machine stood still meanwhile.
	expect([201, 500]).toContain(result.statusCode)
	away.comeBack()
})

test('the second function deletes expired keys', async () => {
	const service = await startServer(json({ id: 'c1' }))
	const { handler, purge } = await startEnvironment(service.origin, { retentionMs: 1 })
	await handler(httpApiEvent(), contextOf())
	const countKeys = async () => (await pool.query('SELECT FROM yaoki.idempotency_keys')).rowCount
	expect(await countKeys()).toBe(1)
	while ((await purge()) === 0);
	expect(await countKeys()).toBe(0)
})
