import { describe, expect, it } from 'vitest'
import { calculateDelay, InvalidOptionError, pipeline, type RetryOptions, retry, schedule } from 'yaoki'

const optionError = (options: object): InvalidOptionError => {
	try {
		retry(options as RetryOptions)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	throw new Error(`accepted ${JSON.stringify(options)}`)
}

describe('an invalid option is rejected when the policy is created', () => {
	const numbers = [
		'baseDelayMs',
		'maxDelayMs',
		'factor',
		'jitterFactor',
		'jitterRangeMs',
		'maxElapsedMs',
		'maxRetries',
	]
	const bad = [-1, Number.NaN, '5', {}, true, -Infinity]

	it.each(numbers.flatMap((option) => bad.map((value) => [option, value] as const)))(
		'%s: %s',
		(option, value) => {
			const error = optionError({ [option]: value })
			expect(error.optionPath).toBe(option)
			expect(error.received).toBe(value)
			expect(error.code).toBe('YAOKI_INVALID_OPTION')
			expect(error.message).toContain(option)
			expect(error.message).toMatch(/^Invalid option "\w+": expected .+, got /)
		},
	)

	it.each(numbers.filter((option) => option !== 'maxRetries'))('%s: Infinity', (option) => {
		expect(optionError({ [option]: Infinity }).optionPath).toBe(option)
	})

	it.each([
		[{ maxRetries: 1.5 }, 'Invalid option "maxRetries": expected an integer, 0 or more, got 1.5'],
		[
			{ maxRetries: Infinity },
			'Invalid option "maxRetries": expected an integer, or Infinity with maxElapsedMs and a baseDelayMs above 0, got Infinity',
		],
		[
			{ baseDelayMs: 500, maxDelayMs: 100 },
			'Invalid option "maxDelayMs": expected at least baseDelayMs (500), got 100',
		],
		[
			{ baseDelayMs: 60_000 },
			'Invalid option "maxDelayMs": expected at least baseDelayMs (60000) instead of the default, got 30000',
		],
		[{ factor: 0.5 }, 'Invalid option "factor": expected a finite number, 1 or more, got 0.5'],
		[{ jitterFactor: 1.1 }, 'Invalid option "jitterFactor": expected a number from 0 to 1, got 1.1'],
		[{ growth: [] }, 'Invalid option "growth": expected a non-empty list of milliseconds, got []'],
		[{ growth: [1, -1] }, 'Invalid option "growth": expected a non-empty list of milliseconds, got [1,-1]'],
		[{ shouldRetry: true }, 'Invalid option "shouldRetry": expected a function, got true'],
		[{ onRetry: 'log' }, 'Invalid option "onRetry": expected a function, got "log"'],
	])('%o: the message names the value and what is expected', (options, message) => {
		expect(optionError(options).message).toBe(message)
	})

	it('an unknown strategy or growth: the message lists the valid ones', () => {
		expect(optionError({ jitterStrategy: 'ful' }).message).toBe(
			'Invalid option "jitterStrategy": expected one of none, full, equal, decorrelated, decorrelated-aws, proportional, additive, got "ful"',
		)
		expect(optionError({ growth: 'cubic' }).message).toBe(
			'Invalid option "growth": expected one of exponential, linear, constant, fibonacci, a list of milliseconds, a function, got "cubic"',
		)
		expect(optionError({ jitterStrategy: 'toString' }).optionPath).toBe('jitterStrategy')
	})

	it('jitterFactor and jitterRangeMs beside another strategy are validated and have no effect', () => {
		expect(optionError({ jitterStrategy: 'none', jitterFactor: 2 }).optionPath).toBe('jitterFactor')
		expect(optionError({ jitterStrategy: 'none', jitterRangeMs: -1 }).optionPath).toBe('jitterRangeMs')
		expect(calculateDelay(0, { jitterStrategy: 'none', jitterFactor: 1, jitterRangeMs: 9 })).toBe(1000)
	})

	it('calculateDelay and schedule reject the same values', () => {
		expect(() => calculateDelay(0, { baseDelayMs: Number.NaN })).toThrow(
			/Invalid option "baseDelayMs": expected .*, got NaN/,
		)
		expect(() => calculateDelay(-1)).toThrow(/Invalid argument "attempt": expected .*, got -1/)
		expect(() => calculateDelay(0.5)).toThrow(/Invalid argument "attempt": expected .*, got 0\.5/)
		expect(() => calculateDelay(0, {}, Number.NaN)).toThrow(
			/Invalid argument "previousDelayMs": expected .*, got NaN/,
		)
		expect(() => schedule({ maxRetries: -1 })).toThrow(/Invalid option "maxRetries": expected .*, got -1/)
		expect(() => schedule({ maxRetries: Infinity, maxElapsedMs: 5 })).toThrow(
			/Invalid option "maxRetries": expected at most 100000, .*, got Infinity/,
		)
	})
})

describe('an unknown option', () => {
	it('is rejected with the nearest valid name, or else with all valid names', () => {
		expect(optionError({ maxRetrys: 5 }).message).toBe(
			'Unknown option "maxRetrys" for retry. Did you mean "maxRetries"?',
		)
		expect(optionError({ tries: 5 }).message).toMatch(
			/^Unknown option "tries" for retry. Valid options: baseDelayMs, .*maxRetries, .*runtime, classify$/,
		)
	})
	it('validates the options that all policies share', () => {
		expect(optionError({ runtime: {} }).message).toBe(
			'Invalid option "runtime": expected a Runtime, got [object Object]',
		)
		expect(optionError({ name: 5 }).message).toBe('Invalid option "name": expected a string, got 5')
		expect(optionError({ classify: 'all' }).message).toBe(
			'Invalid option "classify": expected a function, got "all"',
		)
	})
	it('rejects signal, which is a call option', () => {
		expect(optionError({ signal: AbortSignal.abort() }).optionPath).toBe('signal')
	})
	it('rejects options that are not an object', () => {
		expect(() => retry(5 as never)).toThrow('Invalid option "options": expected an object, got 5')
		expect(() => retry(null as never)).toThrow('Invalid option "options": expected an object, got null')
		expect(() => pipeline({ nam: 'x' } as never)).toThrow('Unknown option "nam"')
	})
})

describe('an unusual but valid option is accepted', () => {
	it.each([
		[{ maxRetries: 0 }],
		[{ baseDelayMs: 0 }],
		[{ maxRetries: Infinity, maxElapsedMs: 1000 }],
		[{ growth: [10, 20], maxDelayMs: 500 }],
		[{ growth: () => 5, maxDelayMs: 500 }],
		[{ maxRetries: undefined, baseDelayMs: undefined, shouldRetry: undefined }],
	])('%o', (options) => {
		expect(() => retry(options)).not.toThrow()
	})
})
