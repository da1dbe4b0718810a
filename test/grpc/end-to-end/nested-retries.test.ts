/** The table of the guide: how many requests a server that always fails receives, for each way in which retries are nested. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import * as connect from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import axios from 'axios'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { circuitBreaker, retry, retryWithBackoff } from 'yaoki'
import {
	parseServiceConfig,
	resilientChannelOptions,
	resilientConnectInterceptor,
	resilientInterceptor,
} from 'yaoki/grpc'
import {
	axiosAdapter,
	ResilientHttpClient,
	resilientFetch,
	retryWithRetryAfter,
	undiciInterceptor,
} from 'yaoki/http'
import { currentContext, withAmbientContext } from 'yaoki/node'
import { listen } from '../../support/listen.ts'
import { useConnectClient } from '../connect/connect-client.ts'
import { quickRetries } from '../support/configs.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, startUsersServer, type UsersServer } from '../support/users-server.ts'

const FAST = { baseDelayMs: 0 }

const config = quickRetries()

let requests = 0
let url = ''
let http: Server
let users: UsersServer

beforeAll(async () => {
	http = createServer((_, response) => {
		requests++
		response.writeHead(503).end('down')
	})
	url = `http://127.0.0.1:${await listen(http)}/`
	users = await startUsersServer()
})
afterAll(async () => {
	http.closeAllConnections()
	http.close()
	await users.close()
})
beforeEach(() => {
	requests = 0
	users.play((exchange) => {
		requests++
		return fail(14)(exchange)
	})
})

const grpcInterceptor = () => resilientInterceptor(grpc, { serviceConfig: config })

const grpcClient = (...interceptors: grpc.Interceptor[]) =>
	useUsersClient(users.address, { ...resilientChannelOptions(config), interceptors })

const requireOk = (response: Response): Response => {
	if (!response.ok) throw new Error(`status ${response.status}`)
	return response
}

interface Row {
	/** As in the guide. */
	readonly code: string
	readonly requests: number
	run(): Promise<unknown>
}

const ROWS: readonly Row[] = [
	{
		code: '`retryWithBackoff(() => client.get(url))`',
		requests: 4,
		run() {
			const client = new ResilientHttpClient(FAST)
			return retryWithBackoff(() => client.get(url), FAST)
		},
	},
	{
		code: '`retryWithBackoff((ctx) => client.get(url, { yaoki: { parent: ctx } }))`',
		requests: 4,
		run() {
			const client = new ResilientHttpClient(FAST)
			return retryWithBackoff((ctx) => client.get(url, { yaoki: { parent: ctx } }), FAST)
		},
	},
	{
		code: '`retryWithBackoff` around `resilientFetch`, with `parent: ctx` and `if (!response.ok) throw new Error()`',
		requests: 4,
		run() {
			const fetch = resilientFetch(FAST)
			return retryWithBackoff(async (ctx) => requireOk(await fetch(url, { yaoki: { parent: ctx } })), FAST)
		},
	},
	{
		code: 'the same with `withAmbientContext(retry())` and `getContext: currentContext` in place of `parent`',
		requests: 4,
		run() {
			const fetch = resilientFetch({ ...FAST, getContext: currentContext })
			return withAmbientContext(retry(FAST)).execute(async () => requireOk(await fetch(url)))
		},
	},
	{
		code: 'the same without `parent`, with `throw new Error(message, { cause: response })`',
		requests: 4,
		run() {
			const fetch = resilientFetch(FAST)
			return retryWithBackoff(async () => {
				const response = await fetch(url)
				if (!response.ok) throw new Error('failed', { cause: response })
			}, FAST)
		},
	},
	{
		code: 'the same without `parent` and without `cause`: the error says nothing about the response',
		requests: 16,
		run() {
			const fetch = resilientFetch(FAST)
			return retryWithBackoff(async () => requireOk(await fetch(url)), FAST)
		},
	},
	{
		code: '`retryWithBackoff(() => retryWithBackoff(request))`',
		requests: 4,
		run() {
			const send = async () => requireOk(await fetch(url))
			return retryWithBackoff(() => retryWithBackoff(send, FAST), FAST)
		},
	},
	{
		code: 'the same with a circuit breaker between the two',
		requests: 4,
		run() {
			const breaker = circuitBreaker()
			const send = async () => requireOk(await fetch(url))
			return retryWithBackoff(() => breaker.execute(() => retryWithBackoff(send, FAST)), FAST)
		},
	},
	{
		code: '`retryWithRetryAfter` around `resilientFetch`',
		requests: 4,
		run() {
			const fetch = resilientFetch(FAST)
			return retryWithRetryAfter(() => fetch(url), 3, FAST)
		},
	},
	{
		code: '`resilientFetch({ fetch: resilientFetch() })`',
		requests: 4,
		run: () => resilientFetch({ ...FAST, fetch: resilientFetch(FAST) })(url),
	},
	{
		code: '`axiosAdapter(axios, { adapter: axiosAdapter(axios) })`',
		requests: 4,
		run() {
			const adapter = axiosAdapter(axios, { ...FAST, adapter: axiosAdapter(axios, FAST) })
			return axios.create({ adapter }).get(url)
		},
	},
	{
		code: '`agent.compose(undiciInterceptor(), undiciInterceptor())`',
		requests: 4,
		async run() {
			const dispatcher = new Agent().compose(undiciInterceptor(FAST), undiciInterceptor(FAST))
			const { body } = await request(url, { dispatcher })
			await body.dump()
			await dispatcher.close()
		},
	},
	{
		code: '`retry({ maxRetries: 2 })` around a gRPC client whose `retryPolicy` has `maxAttempts: 3`',
		requests: 3,
		run() {
			const client = grpcClient(grpcInterceptor())
			return retry({ ...FAST, maxRetries: 2 }).execute(() => client.get({}))
		},
	},
	{
		code: 'the same with a `hedgingPolicy`',
		requests: 3,
		run() {
			const serviceConfig = parseServiceConfig({
				methodConfig: [
					{ name: [{}], hedgingPolicy: { maxAttempts: 3, nonFatalStatusCodes: ['UNAVAILABLE'] } },
				],
			})
			const client = grpcClient(resilientInterceptor(grpc, { serviceConfig }))
			return retry({ ...FAST, maxRetries: 2 }).execute(() => client.get({}))
		},
	},
	{
		code: '`interceptors: [resilientInterceptor(grpc, options), resilientInterceptor(grpc, options)]`, `maxAttempts: 3` each',
		requests: 3,
		run: () => grpcClient(grpcInterceptor(), grpcInterceptor()).get({}),
	},
	{
		code: 'the same with `resilientConnectInterceptor`',
		requests: 3,
		async run() {
			const create = () => resilientConnectInterceptor(connect, { serviceConfig: config })
			const client = useConnectClient('grpc', { http2Url: `http://${users.address}` }, create(), create())
			await client.invoke('Get', {})
		},
	},
]

test.each(ROWS)('$code: $requests requests', async ({ run, requests: expected }) => {
	await run().catch(() => {})
	expect(requests).toBe(expected)
})

test('the guide has the same table', () => {
	const guide = readFileSync(new URL('../../../docs/guide/budgets.md', import.meta.url), 'utf8')
	const table = ROWS.map(({ code, requests: expected }) => `| ${code} | ${expected} |\n`).join('')
	expect(guide).toContain(`| retries around retries | requests |\n|---|---|\n${table}\n`)
})
