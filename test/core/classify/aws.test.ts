import { Agent } from 'node:http'
import { ListQueuesCommand, SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Classification, classify } from 'yaoki'
import { catchFailure, classifyFailure, PERMANENT, THROTTLED, TRANSIENT } from './expected.ts'
import { bothLoopbacks, type Fault, faultServer, neverResponds, respondWith } from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'

/** Sends a message through the SDK. */
async function send(
	endpoint: string,
	{ signal, ...settings }: SQSClientConfig & { signal?: AbortSignal } = {},
) {
	const client = new SQSClient({
		endpoint,
		region: 'us-east-1',
		maxAttempts: 1,
		credentials: { accessKeyId: 'test', secretAccessKey: 'nothing' },
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
	checksSchemes: false,
	aggregateIs: 'the error',
	abortThrows: 'an error of its own',
})

/** An error response of AWS's JSON protocol. */
const respondWithError = (status: number, type: string, query?: string): Fault =>
	respondWith(status, JSON.stringify({ __type: type, message: 'from the service' }), {
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
	[400, 'TransactionConflictException', undefined, 'TransactionConflictException', TRANSIENT],
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
])('status %i with %s is classified by the name', async (status, type, query, name, meaning) => {
	await using server = await faultServer(respondWithError(status, type, query))
	const error = await catchFailure(() => send(server.url))
	expect(error).toMatchObject({ name, $metadata: { httpStatusCode: status } })
	expect(classify(error)).toEqual(meaning)
})

test('an HTML response of a gateway, which the SDK cannot read, is classified by its status', async () => {
	await using bad = await faultServer(respondWith(502, '<html>'))
	await using full = await faultServer(respondWith(503, '<html>'))
	await using missing = await faultServer(respondWith(404, '<html>'))
	expect(await classifyFailure(() => send(bad.url))).toEqual(TRANSIENT)
	expect(await classifyFailure(() => send(full.url))).toEqual(THROTTLED)
	expect(await classifyFailure(() => send(missing.url))).toEqual(PERMANENT)
})

test.each([
	['request', { requestTimeout: 20, throwOnRequestTimeout: true }],
	['socket', { socketTimeout: 20 }],
])('a %s timeout is transient', async (_, requestHandler) => {
	await using server = await faultServer(neverResponds)
	const error = await catchFailure(() => send(server.url, { requestHandler }))
	expect(error).toHaveProperty('name', 'TimeoutError')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a missing credential is permanent', async () => {
	onTestFinished(() => {
		vi.unstubAllEnvs()
	})
	vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
	for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere')
	for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE']) vi.stubEnv(name, undefined)
	const client = new SQSClient({ region: 'us-east-1', endpoint: 'http://127.0.0.1:1' })
	const error = await catchFailure(() => client.send(new ListQueuesCommand()))
	expect(error).toHaveProperty('name', 'CredentialsProviderError')
	expect(classify(error)).toEqual(PERMANENT)
})
