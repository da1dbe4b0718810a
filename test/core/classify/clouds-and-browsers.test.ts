/** Errors of cloud SDKs and browsers that a server on loopback cannot provoke here. */
import { expect, test } from 'vitest'
import { classify, isRetryable } from 'yaoki'
import { PERMANENT, THROTTLED, TRANSIENT } from './expected.ts'

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more)

test.each([
	'ThrottlingException',
	'Throttling',
	'ThrottledException',
	'RequestThrottled',
	'RequestThrottledException',
	'EC2ThrottledException',
	'TooManyRequestsException',
	'ProvisionedThroughputExceededException',
	'RequestLimitExceeded',
	'BandwidthLimitExceeded',
	'LimitExceededException',
	'SlowDown',
	'PriorRequestNotComplete',
	'TransactionInProgressException',
])('AWS: %s is throttled, though the status is 400', (name) => {
	expect(classify(error('Rate exceeded', { name, $metadata: { httpStatusCode: 400 } }))).toEqual(THROTTLED)
	expect(classify(error('Rate exceeded', { code: name, statusCode: 400 }))).toEqual(THROTTLED)
	expect(classify(new Error(`${name}: Rate exceeded`))).toEqual(THROTTLED)
})

test('AWS: $retryable makes an error transient, or throttled if it says so', () => {
	expect(classify(error('no signal', { $retryable: {} }))).toEqual(TRANSIENT)
	expect(classify(error('no signal', { $retryable: { throttling: false } }))).toEqual(TRANSIENT)
	expect(classify(error('no signal', { $retryable: { throttling: true } }))).toEqual(THROTTLED)
})

test('GCP: a 403 because of a rate limit is throttled, any other is permanent', () => {
	for (const reason of ['rateLimitExceeded', 'userRateLimitExceeded'])
		expect(classify(error('no signal', { code: 403, errors: [{ domain: 'usageLimits', reason }] }))).toEqual(
			THROTTLED,
		)
	const errors = [{ domain: 'global', reason: 'forbidden', message: 'Forbidden' }]
	expect(classify(error('Forbidden', { code: 403, errors }))).toEqual(PERMANENT)
	expect(classify(error('Backend Error', { code: 500, errors: [{ reason: 'backendError' }] }))).toEqual(
		TRANSIENT,
	)
})

test('Azure: a RestError is classified by its code and its status', () => {
	const rest = (statusCode: number, code: string) =>
		error('no signal', { name: 'RestError', statusCode, code, details: { errorCode: code } })
	expect(classify(rest(503, 'ServerBusy'))).toEqual(THROTTLED)
	expect(classify(rest(500, 'OperationTimedOut'))).toEqual(TRANSIENT)
	expect(classify(rest(500, 'InternalError'))).toEqual(TRANSIENT)
	expect(classify(rest(404, 'BlobNotFound'))).toEqual(PERMANENT)
	expect(
		classify(
			error('no signal', { name: 'RestError', code: 'REQUEST_SEND_ERROR', cause: error('read ECONNRESET') }),
		),
	).toEqual(TRANSIENT)
})

test.each([
	['Chromium', 'Failed to fetch'],
	['Chromium', 'Failed to fetch (api.example.com)'],
	['Chromium', 'network error'],
	['Firefox', 'NetworkError when attempting to fetch resource.'],
	['Firefox', 'Error in body stream'],
	['Firefox', 'Error in input stream'],
	['Safari', 'Load failed'],
	['Safari', 'Load failed (api.example.com)'],
	['Safari', 'The Internet connection appears to be offline.'],
	['Safari', 'The network connection was lost.'],
	['Safari', 'Could not connect to the server.'],
	['Safari', 'A server with the specified hostname could not be found.'],
	['Safari', 'The request timed out.'],
	['Safari', 'An SSL error has occurred and a secure connection to the server cannot be made.'],
	['React Native', 'Network request failed'],
	['Bun', 'Unable to connect. Is the computer able to access the url?'],
	['Bun', 'The socket connection was closed unexpectedly.'],
	['Deno', 'error sending request for url (https://api.example.com/)'],
	['Deno', 'error reading a body from connection'],
	['Node', 'fetch failed'],
	['Node', 'terminated'],
])('%s: the TypeError "%s" is transient', (_, message) => {
	const failure = new TypeError(message)
	expect(classify(failure)).toEqual(TRANSIENT)
	expect(isRetryable(failure)).toBe(true)
})
