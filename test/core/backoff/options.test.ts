import { describe, expect, it } from 'vitest'
import { calculateDelay, InvalidOptionError, pipeline, type RetryOptions, retry, schedule } from 'yaoki'

const refused = (options: object): InvalidOptionError => {
	try {
		retry(options as RetryOptions)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	throw new Error(`accepted ${JSON.stringify(options)}`)
}

describe('a bad option is refused when the policy is made', () => {
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
			const error = refused({ [option]: value })
			expect(error.option).toBe(option)
			expect(error.received).toBe(value)
			expect(error.code).toBe('YAOKI_INVALID_OPTION')
			expect(error.message).toContain(option)
			expect(error.message).toMatch(/: got .+; takes /)
		},
	)

	it.each(numbers.filter((option) => option !== 'maxRetries'))('%s: Infinity', (option) => {
		expect(refused({ [option]: Infinity }).option).toBe(option)
	})

	it.each([
		[
			{ maxRetries: 1.5 },
			'maxRetries: got 1.5; takes a whole number, or Infinity beside maxElapsedMs and baseDelayMs above 0',
		],
		[
			{ maxRetries: Infinity },
			'maxRetries: got Infinity; takes a whole number, or Infinity beside maxElapsedMs and baseDelayMs above 0',
		],
		[{ baseDelayMs: 500, maxDelayMs: 100 }, 'maxDelayMs: got 100; takes at least baseDelayMs (500)'],
		[
			{ baseDelayMs: 60_000 },
			'maxDelayMs: got 30000; takes at least baseDelayMs (60000); that is the default',
		],
		[{ factor: 0.5 }, 'factor: got 0.5; takes a finite number, 1 or more'],
		[{ jitterFactor: 1.1 }, 'jitterFactor: got 1.1; takes a number from 0 to 1'],
		[{ growth: [] }, 'growth: got []; takes a list of milliseconds, one or more'],
		[{ growth: [1, -1] }, 'growth: got [1,-1]; takes a list of milliseconds, one or more'],
		[{ shouldRetry: true }, 'shouldRetry: got true; takes a function'],
		[{ onRetry: 'log' }, "onRetry: got 'log'; takes a function"],
	])('%o says what it got and what it takes', (options, message) => {
		expect(refused(options).message).toBe(message)
	})

	it('an unknown strategy or growth is answered with the known ones', () => {
		expect(refused({ jitterStrategy: 'ful' }).message).toBe(
			"jitterStrategy: got 'ful'; takes one of none, full, equal, decorrelated, decorrelated-aws, proportional, additive",
		)
		expect(refused({ growth: 'cubic' }).message).toBe(
			"growth: got 'cubic'; takes one of exponential, linear, constant, fibonacci, a list of milliseconds, a function",
		)
		expect(refused({ jitterStrategy: 'toString' }).option).toBe('jitterStrategy')
	})

	it('jitterFactor and jitterRangeMs are checked beside another strategy too, and otherwise ignored', () => {
		expect(refused({ jitterStrategy: 'none', jitterFactor: 2 }).option).toBe('jitterFactor')
		expect(refused({ jitterStrategy: 'none', jitterRangeMs: -1 }).option).toBe('jitterRangeMs')
		expect(calculateDelay(0, { jitterStrategy: 'none', jitterFactor: 1, jitterRangeMs: 9 })).toBe(1000)
	})

	it('the pure formulas refuse the same', () => {
		expect(() => calculateDelay(0, { baseDelayMs: Number.NaN })).toThrow('baseDelayMs: got NaN')
		expect(() => calculateDelay(-1)).toThrow('attempt: got -1')
		expect(() => calculateDelay(0.5)).toThrow('attempt: got 0.5')
		expect(() => calculateDelay(0, {}, Number.NaN)).toThrow('previousDelayMs: got NaN')
		expect(() => schedule({ maxRetries: -1 })).toThrow('maxRetries: got -1')
		expect(() => schedule({ maxRetries: Infinity, maxElapsedMs: 5 })).toThrow(
			'maxRetries: got Infinity; takes at most 100000',
		)
	})
})

describe('an option that is none', () => {
	it('is refused with the names of those that are', () => {
		expect(refused({ maxRetrys: 5 }).message).toMatch(
			/^maxRetrys: got 5; takes nothing, for there is no such option, only baseDelayMs, .*maxRetries, .*runtime, classify$/,
		)
	})
	it('what every policy takes is checked too', () => {
		expect(refused({ runtime: {} }).message).toBe('runtime: got [object Object]; takes a Runtime')
		expect(refused({ name: 5 }).message).toBe('name: got 5; takes a string')
		expect(refused({ classify: 'all' }).message).toBe("classify: got 'all'; takes a function")
	})
	it('a signal belongs to a call and not to a policy', () => {
		expect(refused({ signal: AbortSignal.abort() }).option).toBe('signal')
	})
	it('what is no object of options at all is told so', () => {
		expect(() => retry(5 as never)).toThrow('options: got 5; takes an object')
		expect(() => retry(null as never)).toThrow('options: got null; takes an object')
		expect(() => pipeline({ nam: 'x' } as never)).toThrow('nam: got')
	})
})

describe('an option that may seem strange is allowed', () => {
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
