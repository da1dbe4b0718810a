import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, HttpError, permanent, TimeoutError } from 'yaoki'
import { statusCodesOf } from '../../../src/grpc/http/status-codes.ts'
import type { StatusName } from '../../../src/grpc/status/status.ts'
import { STATUS_NAMES } from '../../../src/grpc/status/status.ts'
import { HttpStatusError } from '../../../src/http/request/status-error.ts'

const namesOf = (error: unknown) => statusCodesOf(error).map((code) => STATUS_NAMES[code])
const response = (status: number, headers = {}) =>
	new HttpStatusError(new Response(null, { status, headers }))

describe('the gRPC status codes of an HTTP status', () => {
	test.each<[number, StatusName[]]>([
		[400, ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'OUT_OF_RANGE']],
		[401, ['UNAUTHENTICATED']],
		[403, ['PERMISSION_DENIED']],
		[404, ['NOT_FOUND', 'UNIMPLEMENTED']],
		[408, ['DEADLINE_EXCEEDED']],
		[409, ['ABORTED', 'ALREADY_EXISTS']],
		[412, ['FAILED_PRECONDITION']],
		[421, ['UNAVAILABLE']],
		[425, ['UNAVAILABLE']],
		[429, ['RESOURCE_EXHAUSTED', 'UNAVAILABLE']],
		[499, ['CANCELLED']],
		[500, ['INTERNAL', 'UNKNOWN', 'DATA_LOSS']],
		[501, ['UNIMPLEMENTED']],
		[502, ['UNAVAILABLE']],
		[503, ['UNAVAILABLE']],
		[504, ['DEADLINE_EXCEEDED', 'UNAVAILABLE']],
		[505, ['UNKNOWN']],
		[418, []],
		[422, []],
	])('%i: %j', (status, names) => {
		expect(namesOf(response(status))).toEqual(names)
	})

	test('a grpc-status header says it exactly', () => {
		expect(namesOf(response(503, { 'grpc-status': '13' }))).toEqual(['INTERNAL'])
		expect(namesOf(response(503, { 'grpc-status': '99' }))).toEqual(['UNKNOWN'])
	})

	test.each(['', '0', '-1', '1.5', 'x'])('a grpc-status of %j is ignored', (value) => {
		expect(namesOf(response(503, { 'grpc-status': value }))).toEqual(['UNAVAILABLE'])
	})

	test('a response that validateResponse rejected is UNKNOWN', () => {
		expect(namesOf(response(200))).toEqual(['UNKNOWN'])
	})
})

describe('the gRPC status codes of a failure without a response', () => {
	test.each([
		['a timeout of the attempt', new TimeoutError('http', 1), ['DEADLINE_EXCEEDED']],
		['a reset connection', Object.assign(new Error('reset'), { code: 'ECONNRESET' }), ['UNAVAILABLE']],
		['a failed fetch', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), ['UNAVAILABLE']],
		['an unknown error', new Error('strange'), ['UNKNOWN']],
		['a programming error', new RangeError('wrong'), []],
		['a permanent error', permanent(new Error('no')), []],
		['a rejection of a policy', new BulkheadRejectedError('b', 'bulkhead-full', 'full'), []],
		['an HttpError of user code', new HttpError(503), []],
	])('%s', (_, error, names) => {
		expect(namesOf(error)).toEqual(names)
	})
})
