import type { APIGatewayProxyEventV2, Context } from 'aws-lambda'
import { afterAll, expect, test, vi } from 'vitest'
import { hang, reset } from '../http/faults/steps.ts'
import type * as Handler from './.cache/aws-lambda/handler.ts'
import { bundle } from './support/bundle.ts'
import { BUSY, headersOf, json, skipBackoff, startServer } from './support/services.ts'

/** Each bundle that is loaded is an execution environment of its own. */
async function startEnvironment(apiUrl: string): Promise<typeof Handler> {
	vi.stubEnv('API_URL', apiUrl)
	return import(`${await bundle('aws-lambda/handler.ts')}?${apiUrl}`)
}
afterAll(() => vi.unstubAllEnvs())

const EVENT = {
	version: '2.0',
	routeKey: 'GET /users/{id}',
	rawPath: '/users/7',
	rawQueryString: '',
	headers: { host: 'abc.execute-api.eu-central-1.amazonaws.com' },
	pathParameters: { id: '7' },
	isBase64Encoded: false,
} as unknown as APIGatewayProxyEventV2

function contextOf(timeoutMs: number): Context {
	const end = performance.now() + timeoutMs
	const context: Partial<Context> = {
		functionName: 'users',
		awsRequestId: '8f2d7a40-0c5b-4a57-9a43-7d3f0c1f7c11',
		getRemainingTimeInMillis: () => Math.max(0, Math.round(end - performance.now())),
	}
	return context as Context
}

test('an invocation responds after failures that are over in time', async () => {
	const service = await startServer([BUSY, reset('request-head'), json({ name: 'Ada' })])
	const { handler } = await startEnvironment(service.origin)
	expect(await handler(EVENT, contextOf(60_000))).toEqual({ statusCode: 200, body: '{"name":"Ada"}' })
	expect(service.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])
})

test('an invocation responds with 503 before its time is over', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const service = await startServer(hang())
	const { handler } = await startEnvironment(service.origin)
	expect(await handler(EVENT, contextOf(2_400))).toEqual({ statusCode: 503 })
	// None if the machine stood still meanwhile.
	expect(service.requests.length).toBeLessThanOrEqual(1)
	// The service knows that it has at most the time of the invocation, minus that for the response.
	for (const given of headersOf(service, 'x-request-timeout-ms'))
		expect(Number(given)).toBeLessThanOrEqual(1_900)
})

test('an invocation without time for a request sends none', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const service = await startServer(json({ name: 'Ada' }))
	const { handler } = await startEnvironment(service.origin)
	expect(await handler(EVENT, contextOf(400))).toEqual({ statusCode: 503 })
	expect(service.requests).toHaveLength(0)
})

test('a 404 is passed on after one request', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const service = await startServer(json({}, 404))
	const { handler } = await startEnvironment(service.origin)
	expect(await handler(EVENT, contextOf(60_000))).toEqual({ statusCode: 404 })
	expect(service.requests).toHaveLength(1)
})

test('a later invocation of the environment knows the circuit that earlier ones have opened', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {})
	skipBackoff()
	const service = await startServer(json({}, 500))
	const { handler } = await startEnvironment(service.origin)
	for (let invocation = 0; invocation < 10; invocation++) await handler(EVENT, contextOf(60_000))
	const sent = service.requests.length
	expect(await handler(EVENT, contextOf(60_000))).toEqual({ statusCode: 503 })
	expect(service.requests).toHaveLength(sent)
})
