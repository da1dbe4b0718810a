/** The wait that a server asks for, read from the errors of real clients. */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import axios from 'axios'
import got from 'got'
import ky from 'ky'
import OpenAI from 'openai'
import { describe, expect, test, vi } from 'vitest'
import { classify, explain, HttpError, retry } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { imfFixdate } from '../../http/headers/dates.ts'
import { catchFailure, PERMANENT, THROTTLED, TRANSIENT } from './expected.ts'
import { faultServer, respondWith } from './fault-server.ts'

/** Returns the delays before the retries of an operation that always fails with this error. */
async function retryDelays(error: unknown, runtime: VirtualRuntime): Promise<readonly number[]> {
	// No jitter on top of the wait.
	vi.spyOn(runtime, 'random').mockReturnValue(0)
	const delays: number[] = []
	const onRetry = (_error: unknown, _attempt: number, delayMs: number) => delays.push(delayMs)
	const settled = retry({ maxRetries: 1, runtime, onRetry }).settle(() => {
		throw error
	})
	await runtime.runUntilIdle()
	expect(await settled).toEqual({ ok: false, error })
	return delays
}

async function sendToQueue(endpoint: string): Promise<unknown> {
	const credentials = { accessKeyId: 'test', secretAccessKey: 'nothing' }
	const client = new SQSClient({ endpoint, region: 'us-east-1', maxAttempts: 1, credentials })
	try {
		return await client.send(new SendMessageCommand({ QueueUrl: `${endpoint}/queue`, MessageBody: 'hello' }))
	} finally {
		client.destroy()
	}
}

const complete = (baseURL: string) =>
	new OpenAI({ apiKey: 'test', baseURL, maxRetries: 0 }).chat.completions.create({
		model: 'any',
		messages: [{ role: 'user', content: 'hello' }],
	})

const CLIENTS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
	'axios with its http adapter': (url) => axios.get(url, { adapter: 'http' }),
	'axios with its fetch adapter': (url) => axios.get(url, { adapter: 'fetch' }),
	got: (url) => got(url, { retry: { limit: 0 } }),
	ky: (url) => ky.get(url, { retry: 0 }),
	OpenAI: complete,
	'the AWS SDK': sendToQueue,
}

describe.each(Object.entries(CLIENTS))('%s', (_, call) => {
	const failure = async (status: number, headers: Readonly<Record<string, string>>) => {
		await using server = await faultServer(
			respondWith(status, '{}', { 'content-type': 'application/json', ...headers }),
		)
		return await catchFailure(() => call(server.url))
	}

	test('the seconds of Retry-After are read', async () => {
		expect(classify(await failure(429, { 'Retry-After': '7' }))).toEqual({
			...THROTTLED,
			retryAfterMs: 7_000,
		})
		expect(classify(await failure(503, { 'retry-after': '2' }))).toEqual({
			...THROTTLED,
			retryAfterMs: 2_000,
		})
		expect(classify(await failure(500, { 'RETRY-AFTER': '1' }))).toEqual({
			...TRANSIENT,
			retryAfterMs: 1_000,
		})
	})

	test('milliseconds come before the rounded seconds', async () => {
		const error = await failure(429, { 'retry-after-ms': '250', 'retry-after': '1' })
		expect(classify(error)).toEqual({ ...THROTTLED, retryAfterMs: 250 })
		expect(classify(await failure(429, { 'x-ms-retry-after-ms': '40' })).retryAfterMs).toBe(40)
	})

	test("a date is compared with the response's own Date", async () => {
		const now = Date.UTC(2040, 0)
		const headers = { date: imfFixdate(now), 'retry-after': imfFixdate(now + 9_000) }
		expect(classify(await failure(429, headers)).retryAfterMs).toBe(9_000)
	})

	test('a retry waits as long as the server asks', async () => {
		const error = await failure(429, { 'retry-after': '7' })
		expect(await retryDelays(error, virtualRuntime())).toEqual([7_000])
		expect(explain(error)?.attempts[0]?.delaySource).toBe('retry-after')
	})

	test('finds no wait without a valid header', async () => {
		expect(classify(await failure(429, {}))).toEqual(THROTTLED)
		expect(classify(await failure(429, { 'retry-after': 'soon' }))).toEqual(THROTTLED)
	})
})

test("OpenAI's insufficient_quota is permanent though its status is 429", async () => {
	const body = JSON.stringify({
		error: { code: 'insufficient_quota', type: 'insufficient_quota', message: 'Other' },
	})
	await using server = await faultServer(respondWith(429, body, { 'content-type': 'application/json' }))
	const error = await catchFailure(() => complete(server.url))
	expect(error).toMatchObject({ status: 429, code: 'insufficient_quota' })
	expect(classify(error)).toEqual(PERMANENT)
})

const ASKED = { ...THROTTLED, retryAfterMs: 5_000 }

test.each<[string, object]>([
	['a Headers object', new Headers({ 'Retry-After': '5' })],
	['an object with lower-case names', { 'retry-after': '5' }],
	['an object with upper-case names', { 'RETRY-AFTER': '5' }],
	['an object with any other case', { 'Retry-after': '5' }],
	['an object with a number', { 'retry-after': 5 }],
	['an object with a list', { 'retry-after': ['3', '5'] }],
	['a Map', new Map([['Retry-After', '5']])],
	['an object with get', { get: (name: string) => (name === 'retry-after' ? '5' : null) }],
])('headers may be %s', (_, headers) => {
	expect(classify({ status: 429, headers })).toEqual(ASKED)
	expect(classify({ response: { status: 429, headers } })).toEqual(ASKED)
	expect(classify({ $metadata: { httpStatusCode: 429 }, $response: { headers } })).toEqual(ASKED)
	expect(classify({ statusCode: 429, responseHeaders: headers })).toEqual(ASKED)
	expect(classify({ data: { httpStatus: 429 }, meta: { response: { headers } } })).toEqual(ASKED)
})

test('retryAfter is in seconds, or a header value; beside timeToReset, as in discord.js, in milliseconds', () => {
	expect(classify({ status: 429, retryAfter: 5 })).toEqual(ASKED)
	expect(classify({ status: 429, retryAfter: '5' })).toEqual(ASKED)
	expect(classify({ status: 429, retryAfter: 5_000, timeToReset: 5_000 })).toEqual(ASKED)
	expect(classify({ code: 'slack_webapi_rate_limited_error', retryAfter: 5 })).toEqual(ASKED)
	for (const retryAfter of [-1, Number.NaN, Infinity, 'soon', null, {}, new Date(0)])
		expect(classify({ status: 429, retryAfter })).toEqual(THROTTLED)
})

test('headers come before retryAfter, because their unit is certain', () => {
	expect(classify({ status: 429, retryAfter: 5_000, headers: { 'retry-after': '5' } })).toEqual(ASKED)
})

test("an error's own retryAfterMs comes before its headers, even if it is undefined", () => {
	const headers = { 'retry-after': '9' }
	expect(classify({ status: 429, retryAfterMs: 5_000, headers })).toEqual(ASKED)
	expect(classify(Object.assign(new HttpError(429), { headers }))).toEqual(THROTTLED)
})

test('a 413 with a Retry-After header is throttled', () => {
	expect(classify({ status: 413, headers: { 'retry-after': '5' } })).toEqual(ASKED)
	expect(classify({ status: 413, headers: {} })).toEqual(PERMANENT)
})

test('a 403 with Retry-After, as from GitHub, is throttled', () => {
	expect(classify({ status: 403, headers: { 'retry-after': '5' } })).toEqual(ASKED)
	expect(classify(new HttpError(403, undefined, { retryAfterMs: 5_000 }))).toEqual(ASKED)
	expect(classify({ status: 403, headers: {} })).toEqual(PERMANENT)
})

test('a 403 with x-ratelimit-remaining: 0 is throttled, until x-ratelimit-reset', () => {
	const runtime = virtualRuntime()
	const limited = (more: object, status = 403) =>
		classify({ status, headers: { 'X-RateLimit-Remaining': '0', ...more } }, { runtime })
	const reset = String(Math.ceil(runtime.wallNow() / 1_000) + 5)
	expect(limited({ 'X-RateLimit-Reset': reset }).kind).toBe('throttled')
	expect(limited({ 'X-RateLimit-Reset': reset }).retryAfterMs).toBe(Number(reset) * 1_000 - runtime.wallNow())
	expect(limited({ 'X-RateLimit-Reset': reset, 'retry-after': '5' })).toEqual(ASKED)
	for (const none of ['1', '60', 'soon', ''])
		expect(limited({ 'X-RateLimit-Reset': none })).toEqual(THROTTLED)
	expect(limited({})).toEqual(THROTTLED)
	expect(limited({ 'X-RateLimit-Remaining': '1' })).toEqual(PERMANENT)
	expect(limited({ 'X-RateLimit-Reset': reset }, 401)).toEqual(PERMANENT)
	expect(limited({ 'X-RateLimit-Reset': reset }, 500)).toEqual(TRANSIENT)
	const headers = new Headers({ 'x-ratelimit-remaining': '0' })
	expect(classify({ response: { status: 403, headers } })).toEqual(THROTTLED)
})

test.each([
	['an object', (value: string) => ({ 'Stripe-Should-Retry': value })],
	['Headers', (value: string) => new Headers({ 'stripe-should-retry': value })],
])('stripe-should-retry in %s decides', (_, headers) => {
	for (const status of [400, 409, 500]) {
		expect(classify({ status, headers: headers('true') })).toEqual(TRANSIENT)
		expect(classify({ status, headers: headers('false') })).toEqual(PERMANENT)
	}
	expect(classify({ status: 429, headers: headers('true') })).toEqual(THROTTLED)
	expect(classify({ status: 429, headers: headers('false') })).toEqual(PERMANENT)
	expect(classify({ status: 409, headers: headers('maybe') })).toEqual(PERMANENT)
	expect(classify({ status: 409, retryable: false, headers: headers('true') })).toEqual(PERMANENT)
	const error = Object.assign(new HttpError(409), { response: { headers: headers('true') } })
	expect(classify(error)).toEqual(TRANSIENT)
})

test("a date without a Date header is compared with the policy's clock", async () => {
	const runtime = virtualRuntime()
	const error = { status: 429, headers: { 'retry-after': imfFixdate(runtime.wallNow() + 3_000) } }
	expect(classify(error, { runtime }).retryAfterMs).toBeGreaterThan(2_000)
	const [delayMs] = await retryDelays(error, runtime)
	expect(delayMs).toBeGreaterThan(2_000)
	expect(delayMs).toBeLessThanOrEqual(3_000)
})

test("a user's classifier need not read the headers", async () => {
	const runtime = virtualRuntime()
	vi.spyOn(runtime, 'random').mockReturnValue(0)
	const delays: number[] = []
	const policy = retry({
		maxRetries: 1,
		runtime,
		classify: () => THROTTLED,
		onRetry: (_error, _attempt, delayMs) => delays.push(delayMs),
	})
	const settled = policy.settle(() => {
		throw { status: 429, headers: { 'retry-after': '5' } }
	})
	await runtime.advance(5_000)
	await settled
	expect(delays).toEqual([5_000])
})
