import { describe, expect, it } from 'vitest'
import {
	type CircuitBreakerOptions,
	readCircuitBreakerOptions,
} from '../../../src/core/circuit-breaker/options.ts'
import { InvalidOptionError } from '../../../src/core/errors/errors.ts'

const invalid = (options: object): InvalidOptionError => {
	try {
		readCircuitBreakerOptions(options as CircuitBreakerOptions)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	throw new Error(`accepted ${JSON.stringify(options)}`)
}

describe('a breaker without options', () => {
	it('has the documented defaults', () => {
		expect(readCircuitBreakerOptions({})).toEqual({
			failureThreshold: 5,
			successThreshold: 2,
			halfOpenFailureRate: 0,
			resetTimeoutMs: 30_000,
			halfOpenMaxConcurrent: 1,
			monitorWindowMs: 60_000,
			errorRateThreshold: Infinity,
			minimumRequests: 10,
			slowCallMs: Infinity,
			slowCallRateThreshold: 0.5,
			windowSize: Infinity,
			probeTimeoutMs: 10_000,
			maxRetryAfterMs: 60_000,
			resetBackoff: undefined,
		})
	})
	it('gives a probe 10 s, whatever the open time is', () => {
		expect(readCircuitBreakerOptions({ resetTimeoutMs: 700 }).probeTimeoutMs).toBe(10_000)
		expect(readCircuitBreakerOptions({ resetTimeoutMs: 700, probeTimeoutMs: 20 }).probeTimeoutMs).toBe(20)
	})
	it('accepts undefined for every option', () => {
		const names = Object.keys(readCircuitBreakerOptions({}))
		const given = Object.fromEntries(names.map((name) => [name, undefined]))
		expect(readCircuitBreakerOptions(given)).toEqual(readCircuitBreakerOptions({}))
	})
	it('lets its open time grow from 1 s to resetTimeoutMs with a backoff', () => {
		expect(readCircuitBreakerOptions({ resetBackoff: {} }).resetBackoff).toMatchObject({
			baseDelayMs: 1_000,
			maxDelayMs: 30_000,
			growth: 'exponential',
			factor: 1.5,
			jitterStrategy: 'equal',
		})
	})
	it('has no backoff with resetBackoff: false', () => {
		expect(readCircuitBreakerOptions({ resetBackoff: false })).toEqual(readCircuitBreakerOptions({}))
	})
	it('keeps its hooks', () => {
		const hooks = {
			isFailure: () => true,
			isFailureResult: (answer: { ok: boolean }) => !answer.ok,
			onStateChange: () => {},
			onEvent: () => {},
			shadow: true,
			name: 'payments',
		}
		expect(readCircuitBreakerOptions(hooks)).toMatchObject(hooks)
	})
})

describe('an invalid option is rejected at construction', () => {
	const numbers = [
		'failureThreshold',
		'successThreshold',
		'resetTimeoutMs',
		'halfOpenMaxConcurrent',
		'monitorWindowMs',
		'errorRateThreshold',
		'minimumRequests',
		'slowCallMs',
		'slowCallRateThreshold',
		'windowSize',
		'probeTimeoutMs',
		'maxRetryAfterMs',
	]
	const bad = [-1, Number.NaN, '5', {}, true, null, -Infinity]
	it.each(numbers.flatMap((option) => bad.map((value) => [option, value] as const)))(
		'%s: %s',
		(option, value) => {
			const error = invalid({ [option]: value })
			expect(error.optionPath).toBe(option)
			expect(error.received).toBe(value)
			expect(error.message).toMatch(/: expected .+, got /)
		},
	)

	it.each(numbers.filter((option) => option !== 'maxRetryAfterMs'))('%s: 0', (option) => {
		expect(invalid({ [option]: 0 }).optionPath).toBe(option)
	})
	it.each(numbers)('%s: Infinity', (option) => {
		expect(invalid({ [option]: Infinity }).optionPath).toBe(option)
	})
	it.each(['failureThreshold', 'successThreshold', 'halfOpenMaxConcurrent', 'minimumRequests', 'windowSize'])(
		'%s: 2.5',
		(option) => {
			expect(invalid({ [option]: 2.5 }).message).toBe(
				`Invalid option "${option}": expected an integer${option === 'windowSize' ? ' from 1 to 1000000' : ', 1 or more'}, got 2.5`,
			)
		},
	)

	it.each([
		[
			{ errorRateThreshold: 0 },
			'Invalid option "errorRateThreshold": expected a number above 0, up to 1, got 0',
		],
		[
			{ halfOpenFailureRate: 1.1 },
			'Invalid option "halfOpenFailureRate": expected a number from 0 to 1, got 1.1',
		],
		[
			{ errorRateThreshold: 1.1 },
			'Invalid option "errorRateThreshold": expected a number from 0 to 1, got 1.1',
		],
		[
			{ slowCallMs: 5, slowCallRateThreshold: 0 },
			'Invalid option "slowCallRateThreshold": expected a number above 0, up to 1, got 0',
		],
		[
			{ slowCallRateThreshold: 0.5 },
			'Invalid option "slowCallRateThreshold": expected slowCallMs to be set as well, got 0.5',
		],
		[
			{ failureThreshold: Infinity },
			'Invalid option "failureThreshold": expected an integer, or Infinity with errorRateThreshold or slowCallMs, got Infinity',
		],
		[
			{ windowSize: 20, minimumRequests: 21 },
			'Invalid option "minimumRequests": expected at most windowSize (20), got 21',
		],
		[
			{ windowSize: 5 },
			'Invalid option "minimumRequests": expected at most windowSize (5) instead of the default, got 10',
		],
		[{ windowSize: 1e7 }, 'Invalid option "windowSize": expected an integer from 1 to 1000000, got 10000000'],
		[{ shadow: 'yes' }, 'Invalid option "shadow": expected a boolean, got "yes"'],
		[{ isFailure: true }, 'Invalid option "isFailure": expected a function, got true'],
		[{ isFailureResult: 1 }, 'Invalid option "isFailureResult": expected a function, got 1'],
		[{ onStateChange: {} }, 'Invalid option "onStateChange": expected a function, got [object Object]'],
		[{ onEvent: 'log' }, 'Invalid option "onEvent": expected a function, got "log"'],
		[{ resetBackoff: true }, 'Invalid option "resetBackoff": expected false or an object, got true'],
		[{ resetBackoff: null }, 'Invalid option "resetBackoff": expected false or an object, got null'],
		[
			{ resetBackoff: { initialMs: 0 } },
			'Invalid option "resetBackoff.initialMs": expected a finite number, 1 or more, got 0',
		],
		[
			{ resetTimeoutMs: 500, resetBackoff: { initialMs: 1_000 } },
			'Invalid option "resetBackoff.initialMs": expected at most resetTimeoutMs (500), got 1000',
		],
		[
			{ resetBackoff: { factor: 0.5 } },
			'Invalid option "resetBackoff.factor": expected a finite number, 1 or more, got 0.5',
		],
		[
			{ resetBackoff: { jitterStrategy: 'additive' } },
			'Invalid option "resetBackoff.jitterStrategy": expected one of equal, full, decorrelated, none, got "additive"',
		],
	])('%o', (options, message) => {
		expect(invalid(options).message).toBe(message)
	})

	it.each([
		['treshold', { treshold: 5 }],
		['resetBackoff.maxDelayMs', { resetBackoff: { maxDelayMs: 60_000 } }],
		['resetBackoff.baseDelayMs', { resetBackoff: { baseDelayMs: 5 } }],
		['resetBackoff.maxRetries', { resetBackoff: { maxRetries: 5 } }],
		['resetBackoff.growth', { resetBackoff: { growth: 'linear' } }],
		['resetBackoff.jitterFactor', { resetBackoff: { jitterFactor: 0.5 } }],
	])('%s, which is unknown there', (option, options) => {
		expect(invalid(options).optionPath).toBe(option)
	})

	it('failureThreshold Infinity is valid with a rate', () => {
		expect(
			readCircuitBreakerOptions({ failureThreshold: Infinity, errorRateThreshold: 0.5 }).failureThreshold,
		).toBe(Infinity)
		expect(readCircuitBreakerOptions({ failureThreshold: Infinity, slowCallMs: 5 }).slowCallMs).toBe(5)
	})
})
