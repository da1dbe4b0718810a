import { describe, expect, it } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'

/** Options as they come out of a file, where no compiler has seen them. */
const made = (options: string) => () => new ResilientHttpClient(JSON.parse(options))

describe('a client is not made of options that can not work', () => {
	it.each([
		['{"retries":3}', 'retries'],
		['{"transport":"undici"}', 'transport: got'],
		['{"cache":"yes"}', "cache: got 'yes'; takes options, true or false"],
		['{"cache":null}', 'cache: got null; takes options, true or false'],
		['{"cache":{"maxEntries":0}}', 'cache.maxEntries: got 0'],
		['{"cache":{"maxAge":1}}', 'cache.maxAge: got 1; takes nothing, for there is no such option'],
		['null', 'options: got null; takes an object'],
		['{"timeout":0}', 'timeout: got 0'],
		['{"totalTimeoutMs":-1}', 'totalTimeoutMs: got -1'],
		['{"circuitBreaker":{"failureThreshold":0}}', 'circuitBreaker.failureThreshold: got 0'],
		['{"circuitBreaker":null}', 'circuitBreaker: got null'],
		['{"bulkhead":{"maxConcurrent":-1}}', 'bulkhead.maxConcurrent: got -1'],
		['{"budget":{"maxRetryRatio":11}}', 'budget.maxRetryRatio: got 11'],
		['{"hedge":{"percentile":101}}', 'hedge.percentile: got 101'],
		['{"hedge":1}', 'hedge: got 1; takes options, true or false'],
		['{"longRetryAfter":"wait"}', "longRetryAfter: got 'wait'"],
		['{"maxRetryAfterMs":-1}', 'maxRetryAfterMs: got -1'],
		['{"pacing":"on"}', "pacing: got 'on'; takes true or false"],
		['{"maxOrigins":0}', 'maxOrigins: got 0'],
		['{"maxOrigins":1.5}', 'maxOrigins: got 1.5; takes a whole number'],
		['{"idempotency":"always"}', "idempotency: got 'always'"],
		['{"deadlineHeader":"x-mine"}', "deadlineHeader: got 'x-mine'"],
	])('%s', (options, message) => {
		expect(made(options)).toThrow(message)
		expect(made(options)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_OPTION' }))
	})

	it('but of none at all, and then has told nothing and done nothing', () => {
		expect(new ResilientHttpClient().stats).toEqual({
			requests: 0,
			failures: 0,
			attempts: 0,
			cache: undefined,
			origins: {},
		})
	})
})
