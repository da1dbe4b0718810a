/** Arguments that plain JavaScript accepts and that would be silently ignored. */
import { describe, expect, test, vi } from 'vitest'
import {
	bulkhead,
	type CallOptions,
	calculateDelay,
	circuitBreaker,
	Deadline,
	fallback,
	hedge,
	InvalidOptionError,
	nextRetryAt,
	pipeline,
	type RetryOptions,
	rateLimiter,
	retry,
	retryBudget,
	retryWithBackoff,
	schedule,
	timeout,
} from 'yaoki'
import { runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'

const load = vi.fn(async () => 'result')
const policy = retry({ maxRetries: 0 })

describe('the functions for delays', () => {
	const unknown = { baseDelay: 5 } as RetryOptions

	test.each([
		['calculateDelay', () => calculateDelay(0, unknown)],
		['nextRetryAt', () => nextRetryAt(0, 0, unknown)],
		['schedule', () => schedule(unknown)],
	])('%s rejects an unknown option and suggests the nearest one', (name, run) => {
		const owner = name === 'nextRetryAt' ? 'calculateDelay' : name
		expect(run).toThrow(`Unknown option "baseDelay" for ${owner}. Did you mean "baseDelayMs"?`)
	})

	test('accept every option of a retry, so that one object serves both', () => {
		const options: RetryOptions = {
			baseDelayMs: 100,
			jitterStrategy: 'none',
			shouldRetry: () => true,
			retryResult: () => false,
			delayFor: () => 1,
			onRetry: () => {},
			budget: retryBudget(),
			nested: 'outermost',
			name: 'jobs',
			runtime: virtualRuntime(),
			classify: (error, next) => next(error),
		}
		expect(retry(options).name).toBe('jobs')
		expect(calculateDelay(1, options)).toBe(200)
		expect(nextRetryAt(0, 1, options)).toEqual(new Date(200))
		expect(schedule(options).total.maxMs).toBe(700)
	})

	test('validate the other options of a retry too', () => {
		expect(() => calculateDelay(0, { shouldRetry: 5 } as never)).toThrow('Invalid option "shouldRetry"')
		expect(() => schedule({ nested: 'inner' } as never)).toThrow('Invalid option "nested"')
		expect(() => calculateDelay(0, [] as never)).toThrow(
			'Invalid option "options": expected an object, got []',
		)
	})

	test('read an options object again if it has changed', () => {
		const options = { baseDelayMs: 100, jitterStrategy: 'none' as const }
		expect(calculateDelay(0, options)).toBe(100)
		options.baseDelayMs = 200
		expect(calculateDelay(0, options)).toBe(200)
		options.baseDelayMs = -1
		expect(() => calculateDelay(0, options)).toThrow('Invalid option "baseDelayMs"')
	})
})

describe('a function in place of options is rejected, with what to write instead', () => {
	test.each([
		['retry', () => retry(load as never)],
		['circuitBreaker', () => Reflect.apply(circuitBreaker, undefined, [load, { failureThreshold: 5 }])],
		['bulkhead', () => bulkhead(load as never)],
		['rateLimiter', () => rateLimiter(load as never)],
		['hedge', () => hedge(load as never)],
		['timeout', () => timeout(5, load as never)],
		['fallback', () => fallback(5, load as never)],
	])('%s', (name, create) => {
		const message = `Invalid option "options": expected an object of options, and the function in ${name}(...).execute(fn), got a function`
		expect(create).toThrow(message)
	})

	test('retryWithBackoff rejects it, and a bare number too', async () => {
		const expected = 'Invalid option "options": expected an object'
		await expect(retryWithBackoff(load, load as never)).rejects.toThrow(`${expected}, got a function`)
		await expect(retryWithBackoff(load, 5 as never)).rejects.toThrow(`${expected}, got 5`)
		await expect(retryWithBackoff(load, null as never)).rejects.toThrow(`${expected}, got null`)
	})
})

describe('a pipeline rejects', () => {
	test.each([
		[
			'a factory that was not called',
			[retry],
			'policies[0]": expected a policy, which retry(...) creates, got a function',
		],
		[
			'a factory further in',
			[policy, timeout],
			'policies[1]": expected a policy, which timeout(...) creates, got a function',
		],
		[
			'a list of policies',
			[[policy, policy]],
			'policies[0]": expected policies as separate arguments: pipeline(...policies)',
		],
		[
			'a list after options',
			[{ name: 'api' }, [policy]],
			'policies[0]": expected policies as separate arguments',
		],
		['null', [null, policy], 'policies[0]": expected a policy, got null'],
		['a number after options', [{ name: 'api' }, 5], 'policies[0]": expected a policy, got 5'],
	])('%s', (_, given, message) => {
		expect(() => Reflect.apply(pipeline, undefined, given)).toThrow(`Invalid argument "${message}`)
	})

	test('an unknown option, with the nearest name', () => {
		expect(() => pipeline({ nmae: 'api' } as object, policy)).toThrow(
			'Unknown option "nmae" for pipeline. Did you mean "name"?',
		)
	})
})

describe('call options are validated', () => {
	const clock = virtualRuntime()
	const { signal } = new AbortController()
	const deadline = Deadline.after(1_000)
	const cases: [what: string, options: unknown, message: string][] = [
		[
			'an abort signal',
			signal,
			'Invalid option "options": expected an object such as { signal, deadline }, got [object AbortSignal]',
		],
		['a deadline', deadline, 'Invalid option "options": expected an object such as { signal, deadline }'],
		['a timeout', { timeout: 5_000 }, 'Unknown option "timeout" for a call. Did you mean "deadline"?'],
		['a typo', { signl: signal }, 'Unknown option "signl" for a call. Did you mean "signal"?'],
		[
			'an unknown name',
			{ retries: 3 },
			'Unknown option "retries" for a call. Valid options: signal, deadline, name, key, idempotent, parent',
		],
		[
			'a number',
			5_000,
			'Invalid option "options": expected an object such as { signal, deadline }, got 5000',
		],
		['a list', [signal], 'Invalid option "options": expected an object such as { signal, deadline }'],
		['a typo in the parent', { parent: { signl: signal } }, 'Unknown option "signl" for a call.'],
		['a parent that is no object', { parent: 5 }, 'Invalid option "options"'],
	]

	test.each(cases)('%s is rejected and the operation is not called', async (_, given, message) => {
		const options = given as CallOptions
		load.mockClear()
		await expect(policy.execute(load, options)).rejects.toThrow(message)
		const error = expect.objectContaining({ message: expect.stringContaining(message) })
		expect(await policy.settle(load, options)).toEqual({ ok: false, error })
		await expect(circuitBreaker().execute(load, undefined, options)).rejects.toThrow(message)
		await expect(pipeline(fallback('instead')).execute(load, options)).rejects.toThrow(message)
		expect(load).not.toHaveBeenCalled()
	})

	test('a function is rejected by policies other than a breaker', async () => {
		await expect(policy.execute(load, load as never)).rejects.toThrow(
			'Invalid option "options": expected an object such as { signal, deadline }, got a function',
		)
	})

	test('a copy of a context is rejected, because it has lost the signal', async () => {
		const outer = policy.execute((context) => policy.execute(load, { ...context }))
		await expect(outer).rejects.toThrow('expected the context itself, or { parent: context }')
	})

	test('every valid option, a context and a context of another copy of the package are accepted', async () => {
		const all = { signal, deadline, name: 'n', key: 'k', idempotent: true, parent: { key: 'p' } }
		expect(await policy.execute(load, all)).toBe('result')
		expect(await policy.execute(load, {})).toBe('result')
		expect(await policy.execute((context) => policy.execute(load, context))).toBe('result')
		expect(await policy.execute((context) => policy.execute(load, { parent: context, name: 'n' }))).toBe(
			'result',
		)
		const ambient = withAmbientContext(policy)
		expect(await runWithContext({ key: 'k' }, () => ambient.execute(load, { name: 'n' }))).toBe('result')
		class OtherContext {
			readonly attempt = 0
			readonly other = 1
			get signal() {
				return signal
			}
		}
		expect(await policy.execute(load, new OtherContext() as CallOptions)).toBe('result')
	})

	test('calls without promises are validated too', () => {
		const done = vi.fn()
		clock.run(retry({ runtime: clock }), (_, end) => end(null, 1), done, { timeout: 5 } as CallOptions)
		expect(done.mock.calls[0]?.[0]).toBeInstanceOf(InvalidOptionError)
	})
})

test('functions in a list are printed as functions, not as source', () => {
	expect(() => retry({ growth: [() => 5] as never })).toThrow('got [a function]')
})
