import { Agent } from 'node:http'
import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { type Classification, classify } from 'yaoki'
import { answers, bothLoopbacks, type Fault, faultServer, neverAnswers } from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'
import { failureOf, PERMANENT, THROTTLED, TRANSIENT, verdict } from './verdicts.ts'

/** Sends a message through the SDK. */
async function send(
	endpoint: string,
	{ signal, ...settings }: SQSClientConfig & { signal?: AbortSignal } = {},
) {
	const client = new SQSClient({
		endpoint,
		region: 'us-east-1',
		maxAttempts: 1,
		credentials: { accessKeyId: 'nobody', secretAccessKey: 'nothing' },
		...settings,
	})
	try {
		const message = new SendMessageCommand({ QueueUrl: `${endpoint}/queue`, MessageBody: 'hello' })
		return await client.send(message, signal && { abortSignal: signal })
	} finally {
		client.destroy()
	}
}

describeHttpClient('the AWS SDK', {
	get: send,
	getByBothLoopbacks: (url) =>
		send(url, { requestHandler: { httpAgent: new Agent({ lookup: bothLoopbacks }) } }),
	getOrThrow: send,
	getJson: send,
	followsRedirects: false,
	mindsSchemes: false,
	aggregateIs: 'the error',
	abortThrows: 'an error of its own',
})

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
	const error = await failureOf(() => send(server.url))
	expect(error).toMatchObject({ name, $metadata: { httpStatusCode: status } })
	expect(classify(error)).toEqual(meaning)
})

test('a gateway that answers HTML is judged by its status, though the SDK could not read it', async () => {
	await using bad = await faultServer(answers(502, '<html>'))
	await using full = await faultServer(answers(503, '<html>'))
	await using missing = await faultServer(answers(404, '<html>'))
	expect(await verdict(() => send(bad.url))).toEqual(TRANSIENT)
	expect(await verdict(() => send(full.url))).toEqual(THROTTLED)
	expect(await verdict(() => send(missing.url))).toEqual(PERMANENT)
})

test.each([
	['request', { requestTimeout: 20, throwOnRequestTimeout: true }],
	['socket', { socketTimeout: 20 }],
])('a %s timeout is transient', async (_, requestHandler) => {
	await using server = await faultServer(neverAnswers)
	const error = await failureOf(() => send(server.url, { requestHandler }))
	expect(error).toHaveProperty('name', 'TimeoutError')
	expect(classify(error)).toEqual(TRANSIENT)
})
