import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { type Classification, classify, isRetryableNetworkError } from 'yaoki'
import {
	answers,
	closeAtOnce,
	closeMidBody,
	cutHandshake,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
} from './fault-server.ts'
import { CANCELLED, failureOf, PERMANENT, THROTTLED, TRANSIENT } from './verdicts.ts'

/** What sending a message through the SDK threw. */
async function failureAt(
	endpoint: string,
	settings: SQSClientConfig = {},
	abortSignal?: AbortSignal,
): Promise<unknown> {
	const client = new SQSClient({
		endpoint,
		region: 'us-east-1',
		maxAttempts: 1,
		credentials: { accessKeyId: 'nobody', secretAccessKey: 'nothing' },
		...settings,
	})
	try {
		const message = new SendMessageCommand({ QueueUrl: `${endpoint}/queue`, MessageBody: 'hello' })
		return await failureOf(() => client.send(message, abortSignal && { abortSignal }))
	} finally {
		client.destroy()
	}
}

/** An error as AWS's JSON protocol tells it. */
const refuses = (status: number, type: string, query?: string): Fault =>
	answers(status, JSON.stringify({ __type: type, message: 'Said by the service' }), {
		'content-type': 'application/x-amz-json-1.0',
		...(query && { 'x-amzn-query-error': query }),
	})

test.each<[number, string, string | undefined, string, Classification]>([
	[400, 'com.amazon.coral.availability#ThrottlingException', undefined, 'ThrottlingException', THROTTLED],
	[400, 'com.amazonaws.sqs#RequestThrottled', 'RequestThrottled;Sender', 'RequestThrottled', THROTTLED],
	[403, 'com.amazonaws.sqs#RequestThrottled', undefined, 'RequestThrottled', THROTTLED],
	[429, 'TooManyRequestsException', undefined, 'TooManyRequestsException', THROTTLED],
	[503, 'ServiceUnavailable', undefined, 'ServiceUnavailable', THROTTLED],
	[500, 'InternalFailure', undefined, 'InternalFailure', TRANSIENT],
	[400, 'RequestTimeout', undefined, 'RequestTimeout', TRANSIENT],
	[403, 'AccessDeniedException', undefined, 'AccessDeniedException', PERMANENT],
	[400, 'ExpiredTokenException', undefined, 'ExpiredTokenException', PERMANENT],
	[
		400,
		'com.amazonaws.sqs#QueueDoesNotExist',
		'AWS.SimpleQueueService.NonExistentQueue;Sender',
		'QueueDoesNotExist',
		PERMANENT,
	],
])('status %i with %s means what the name says', async (status, type, query, name, meaning) => {
	await using server = await faultServer(refuses(status, type, query))
	const error = await failureAt(server.url)
	expect(error).toMatchObject({ name, $metadata: { httpStatusCode: status } })
	expect(classify(error)).toEqual(meaning)
})

test('a gateway that answers HTML is judged by its status, though the SDK could not read it', async () => {
	await using bad = await faultServer(answers(502, '<html>'))
	await using full = await faultServer(answers(503, '<html>'))
	await using missing = await faultServer(answers(404, '<html>'))
	await using nonsense = await faultServer(answers(200, '<html>'))
	expect(classify(await failureAt(bad.url))).toEqual(TRANSIENT)
	expect(classify(await failureAt(full.url))).toEqual(THROTTLED)
	expect(classify(await failureAt(missing.url))).toEqual(PERMANENT)
	expect(classify(await failureAt(nonsense.url))).toEqual(PERMANENT)
})

test('a refused connection is a transient failure of the network', async () => {
	const error = await failureAt(`http://127.0.0.1:${await deadPort()}`)
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})

test.each<[string, Fault, 'url' | 'tlsUrl']>([
	['closes the connection', closeAtOnce, 'url'],
	['resets the connection', resetOnRequest, 'url'],
	['closes amid the body', closeMidBody, 'url'],
	['cuts the TLS handshake off', cutHandshake, 'tlsUrl'],
])('a server that %s is transient', async (_, fault, url) => {
	await using server = await faultServer(fault)
	expect(classify(await failureAt(server[url]))).toEqual(TRANSIENT)
})

test.each([
	['request', { requestTimeout: 20, throwOnRequestTimeout: true }],
	['socket', { socketTimeout: 20 }],
])('a %s timeout is transient', async (_, requestHandler) => {
	await using server = await faultServer(neverAnswers)
	const error = await failureAt(server.url, { requestHandler })
	expect(error).toHaveProperty('name', 'TimeoutError')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('an abort is transient, and cancelled when it is the caller’s own', async () => {
	await using server = await faultServer(neverAnswers)
	for (const signal of [AbortSignal.abort(), AbortSignal.timeout(20)]) {
		const error = await failureAt(server.url, {}, signal)
		expect(classify(error)).toEqual(TRANSIENT)
		expect(classify(error, { signal })).toEqual(CANCELLED)
	}
})
