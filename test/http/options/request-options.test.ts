import { describe, expect, it } from 'vitest'
import { Deadline } from 'yaoki'
import {
	checkMisplaced,
	type RequestOptions,
	readRequestOptions,
} from '../../../src/http/options/request-options.ts'

describe('the options of one request', () => {
	it('are empty if none were given', () => {
		expect(readRequestOptions(undefined, 3)).toEqual({})
	})

	it('are returned as they were given', () => {
		const deadline = Deadline.after(5_000)
		const given = { deadline, name: 'load', idempotent: true, timeout: 50, totalTimeoutMs: Infinity }
		expect(readRequestOptions(given, 3)).toBe(given)
	})

	it('may have at most the retries of the client', () => {
		expect(readRequestOptions({ maxRetries: 3 }, 3)).toEqual({ maxRetries: 3 })
		expect(() => readRequestOptions({ maxRetries: 4 }, 3)).toThrow(/"yaoki\.maxRetries"/)
	})

	it.each([
		[5, 'yaoki'],
		[{ timeout: 0 }, 'yaoki.timeout'],
		[{ totalTimeoutMs: -1 }, 'yaoki.totalTimeoutMs'],
		[{ deadline: 2_000 }, 'yaoki.deadline'],
		[{ parent: { headers: {} } }, 'yaoki.parent'],
		[{ parent: 'request' }, 'yaoki.parent'],
		[{ idempotencyKey: '' }, 'yaoki.idempotencyKey'],
		[{ maxRetries: 0.5 }, 'yaoki.maxRetries'],
		[{ retries: 1 }, 'yaoki.retries'],
	])('that are invalid are rejected with their path: %j', (given, optionPath) => {
		const error = expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath })
		expect(() => readRequestOptions(given as RequestOptions, 3)).toThrow(error)
	})

	it('beside yaoki are rejected, because fetch would ignore them', () => {
		expect(() => checkMisplaced({ method: 'GET', timeout: 50 })).toThrow(
			'Invalid option "timeout": expected { yaoki: { timeout } }, got 50',
		)
		expect(() => checkMisplaced({ method: 'GET', toString: 1 })).not.toThrow()
	})
})
