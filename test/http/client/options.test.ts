import { describe, expect, it } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'

/** Options as they come out of a file, where no compiler has seen them. */
const made = (options: string) => () => new ResilientHttpClient(JSON.parse(options))

describe('a client', () => {
	it.each([
		['{"retries":3}', 'retries'],
		['{"fetch":"undici"}', 'Invalid option "fetch"'],
		['{"cache":"yes"}', 'Invalid option "cache": expected an options object, true or false, got "yes"'],
		['{"cache":null}', 'Invalid option "cache": expected an options object, true or false, got null'],
		['{"cache":{"maxEntries":0}}', /Invalid option "cache\.maxEntries": expected .*, got 0/],
		['{"cache":{"maxAge":1}}', 'Unknown option "cache.maxAge" for cache. Did you mean "maxAgeMs"?'],
		['null', 'Invalid option "options": expected an object, got null'],
		['{"timeout":0}', /Invalid option "timeout": expected .*, got 0/],
		['{"totalTimeoutMs":-1}', /Invalid option "totalTimeoutMs": expected .*, got -1/],
		[
			'{"circuitBreaker":{"failureThreshold":0}}',
			/Invalid option "circuitBreaker\.failureThreshold": expected .*, got 0/,
		],
		['{"circuitBreaker":null}', /Invalid option "circuitBreaker": expected .*, got null/],
		['{"bulkhead":{"maxConcurrent":-1}}', /Invalid option "bulkhead\.maxConcurrent": expected .*, got -1/],
		['{"budget":{"maxRetryRatio":11}}', /Invalid option "budget\.maxRetryRatio": expected .*, got 11/],
		['{"hedge":{"percentile":101}}', /Invalid option "hedge\.percentile": expected .*, got 101/],
		['{"hedge":1}', 'Invalid option "hedge": expected an options object, true or false, got 1'],
		['{"longRetryAfter":"wait"}', /Invalid option "longRetryAfter": expected .*, got "wait"/],
		['{"maxRetryAfterMs":-1}', /Invalid option "maxRetryAfterMs": expected .*, got -1/],
		['{"honorRateLimit":"on"}', 'Invalid option "honorRateLimit": expected a boolean, got "on"'],
		['{"maxOrigins":0}', /Invalid option "maxOrigins": expected .*, got 0/],
		['{"maxOrigins":1.5}', 'Invalid option "maxOrigins": expected an integer, 1 or more, got 1.5'],
		['{"maxResponseBytes":0}', /Invalid option "maxResponseBytes": expected .*, got 0/],
		[
			'{"maxResponseBytes":1.5}',
			'Invalid option "maxResponseBytes": expected an integer, 1 or more, got 1.5',
		],
		['{"idempotency":"always"}', /Invalid option "idempotency": expected .*, got "always"/],
		['{"deadlineHeader":"x-mine"}', /Invalid option "deadlineHeader": expected .*, got "x-mine"/],
	])('rejects the invalid options %s', (options, message) => {
		expect(made(options)).toThrow(message)
		expect(made(options)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_OPTION' }))
	})

	it('accepts no options, and starts with empty stats', () => {
		expect(new ResilientHttpClient().stats).toEqual({
			requests: 0,
			failures: 0,
			attempts: 0,
			shared: 0,
			cache: undefined,
			origins: {},
		})
	})

	it('rejects request options outside of yaoki, which fetch would ignore', async () => {
		const init = JSON.parse('{"timeout":50}')
		const error = await new ResilientHttpClient().get('https://api.example.com/', init).catch((e) => e)
		expect(error.message).toBe('Invalid option "timeout": expected { yaoki: { timeout } }, got 50')
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', optionPath: 'timeout', received: 50 })
	})
})
