import { describe, expect, test } from 'vitest'
import { problemResponse } from '../../../src/idempotency/response/problems.ts'

const read = ({ headers, body }: ReturnType<typeof problemResponse>) => ({
	headers: Object.fromEntries(headers),
	body: JSON.parse(new TextDecoder().decode(body)),
})

describe('a problem', () => {
	test('is problem details that no cache keeps, with the status also in the body', () => {
		const response = problemResponse('idempotency-key-reused')
		expect(response.status).toBe(422)
		expect(read(response)).toEqual({
			headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
			body: {
				type: 'about:blank',
				title: 'Idempotency key used for another request',
				status: 422,
				detail: 'The key belongs to a different request. Use a new key for a new request.',
				code: 'idempotency-key-reused',
			},
		})
	})

	test('shows a detail of the request in place of the general one', () => {
		const { body } = read(problemResponse('idempotency-key-malformed', { detail: 'is empty' }))
		expect([body.status, body.detail]).toEqual([400, 'is empty'])
	})

	test.each([
		[0, '1'],
		[1, '1'],
		[1_000, '1'],
		[1_001, '2'],
		[5_000, '5'],
	])('rounds a retryAfterMs of %s up to %s s, at least 1', (retryAfterMs, expected) => {
		const { headers } = read(problemResponse('request-in-progress', { retryAfterMs }))
		expect(headers['retry-after']).toBe(expected)
	})

	test('asks for no retry without a retryAfterMs', () => {
		expect(read(problemResponse('request-outcome-unknown')).headers).not.toHaveProperty('retry-after')
	})
})
