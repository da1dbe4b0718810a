/** Hooks may declare the type of the error that they expect. Without a declaration it is unknown. */

import { describe, expect, expectTypeOf, test } from 'vitest'
import {
	type CallContext,
	type Classifier,
	circuitBreaker,
	fallback,
	HttpError,
	type Policy,
	pipeline,
	type Retry,
	retry,
	retryWithBackoff,
	timeout,
} from 'yaoki'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import type { UnwantedResult } from '../../../src/core/retry/options.ts'
import type { RelayRetryOptions } from '../../../src/outbox/destinations/destination.ts'
import { settled } from '../../support/scenario.ts'

class AxiosError extends Error {
	readonly response = { status: 503, retryAfterMs: 700 }
}

describe('a hook that declares the type of the error compiles', () => {
	test('compiles in a retry', async () => {
		const clock = virtualRuntime()
		const seen: unknown[] = []
		const policy = retry({
			maxRetries: 1,
			runtime: clock,
			shouldRetry: (error: AxiosError) => error.response.status === 503,
			delayFor: (error: AxiosError, attempt) => error.response.retryAfterMs + attempt,
			onRetry: (error: Error, attempt, delayMs) => seen.push([error.message, attempt, delayMs]),
		})
		await settled(
			clock,
			policy.execute(() => Promise.reject(new AxiosError('busy'))),
		)
		expect(seen).toEqual([['busy', 1, 700]])
		expect(await retryWithBackoff(() => 5, { onRetry: (error: Error) => seen.push(error) })).toBe(5)
	})

	test('compiles in a breaker, a fallback and a classifier', async () => {
		const breaker = circuitBreaker({ isFailure: (error: HttpError) => error.statusCode >= 500 })
		const policy = fallback((error: HttpError, { attempt }) => `${error.statusCode} in attempt ${attempt}`, {
			when: (error: HttpError) => error.statusCode === 404,
			orElse: [(error: Error, { attempt }: CallContext) => `${error.message}, ${attempt}`],
		})
		const classifier: Classifier = (error: HttpError, next) => next(error.cause)
		expect(await policy.execute(() => Promise.reject(new HttpError(404)))).toBe('404 in attempt 0')
		expect(breaker.name).toBe('circuitBreaker')
		expectTypeOf(classifier).toEqualTypeOf<Classifier>()
	})

	test('compiles in the HTTP clients and the relay', () => {
		const hooks = {
			shouldRetry: (error: HttpError) => error.statusCode === 503,
			onRetry: (_: Error, __: number, ___: number) => {},
		}
		const relay: RelayRetryOptions = {
			shouldRetry: hooks.shouldRetry,
			delayFor: (error: AxiosError) => error.response.retryAfterMs,
		}
		expect(new ResilientHttpClient(hooks).stats).toBeDefined()
		expect(
			typeof resilientFetch({ ...hooks, circuitBreaker: { isFailure: (error: Error) => error.name !== '' } }),
		).toBe('function')
		expect(relay.delayFor?.(new AxiosError(), 0)).toBe(700)
	})
})

describe('retryResult that declares the type of the result', () => {
	const isBusy = (response: Response) => response.status === 503

	test('accepts operations that return it', async () => {
		const policy = retry({ retryResult: isBusy })
		expectTypeOf(policy.execute(() => new Response())).toEqualTypeOf<Promise<Response>>()
		expectTypeOf(policy.execute(async () => new Response())).toEqualTypeOf<Promise<Response>>()
		expectTypeOf(policy.bind((_, status: number) => new Response('', { status }))(200)).toEqualTypeOf<
			Promise<Response>
		>()
		expect((await pipeline(policy, timeout(1_000)).execute(() => new Response('ok'))).status).toBe(200)
		expect((await retryWithBackoff(() => new Response('ok'), { retryResult: isBusy })).status).toBe(200)
	})

	test('rejects operations that return something else', async () => {
		const policy = retry({ retryResult: isBusy })
		// @ts-expect-error a number is no Response
		await policy.execute(() => 5)
		// @ts-expect-error a number is no Response
		await policy.execute(async () => 5)
		// @ts-expect-error a number is no Response
		await policy.settle(() => 5)
		// @ts-expect-error a number is no Response
		await policy.bind(() => 5)()
	})

	test('is optional: all other retries accept any operation, also in a list of policies', async () => {
		const policies: Policy<unknown>[] = [retry({ retryResult: isBusy }), retry()]
		expect(policies).toHaveLength(2)
		expectTypeOf(retry({ retryResult: (value) => value === 5 }).execute(() => 5)).toEqualTypeOf<
			Promise<number>
		>()
		expectTypeOf(retry().execute(() => 'five')).toEqualTypeOf<Promise<string>>()
		const any: Retry = retry({ maxRetries: 0 })
		expect(await any.execute(() => 5)).toBe(5)
	})
})

describe('a hook that declares no type', () => {
	test('gets an unknown error', () => {
		retry({
			shouldRetry: (error, attempt) => {
				expectTypeOf(error).toBeUnknown()
				expectTypeOf(attempt).toBeNumber()
				return true
			},
			retryResult: (value) => {
				expectTypeOf(value).toBeUnknown()
				return false
			},
			delayFor: (error, _, unwanted) => {
				expectTypeOf(error).toBeUnknown()
				expectTypeOf(unwanted).toEqualTypeOf<UnwantedResult | undefined>()
				return 5
			},
			onRetry: (error, _, delayMs) => {
				expectTypeOf(error).toBeUnknown()
				expectTypeOf(delayMs).toBeNumber()
			},
			classify: (error, next) => {
				expectTypeOf(error).toBeUnknown()
				return next(error)
			},
		})
		circuitBreaker({
			isFailure: (error) => {
				expectTypeOf(error).toBeUnknown()
				return true
			},
		})
		fallback(
			(error, { attempt }) => {
				expectTypeOf(error).toBeUnknown()
				return attempt
			},
			{
				when: (error) => {
					expectTypeOf(error).toBeUnknown()
					return true
				},
			},
		)
		expect.assertions(0)
	})

	test('must still have a valid result and valid parameters', () => {
		// @ts-expect-error a delay is a number
		expect(() => retry({ delayFor: (error: Error) => error.message })).not.toThrow()
		// @ts-expect-error the second parameter is the attempt
		expect(() => retry({ shouldRetry: (_: Error, attempt: string) => attempt === '' })).not.toThrow()
	})
})
