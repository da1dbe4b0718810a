import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	type CallContext,
	circuitBreaker,
	explain,
	hedge,
	type Policy,
	permanent,
	pipeline,
	type Retry,
	type RetryOptions,
	rateLimiter,
	retry,
	timeout,
} from 'yaoki'
import { withAmbientContext } from 'yaoki/node'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, type Script, settled, steady, taking } from '../../support/scenario.ts'

type Form = (policies: readonly Policy[], work: (ctx: CallContext) => unknown) => Promise<unknown>

/** The ways in which retries come to stand around each other, outermost first. */
const forms: readonly (readonly [string, Form])[] = [
	['in one pipeline', (policies, work) => pipeline(...policies).execute(work)],
	['by a context that is passed on', ([outer, ...rest], work) => nest(outer, rest, work, (ctx) => ctx)],
	[
		'by a context that is passed on with a name',
		([outer, ...rest], work) => nest(outer, rest, work, (ctx) => ({ parent: ctx, name: 'inner' })),
	],
	[
		'by the async context',
		([outer, ...rest], work) =>
			nest(
				outer && withAmbientContext(outer),
				rest.map((policy) => withAmbientContext(policy)),
				work,
				() => undefined,
			),
	],
	[
		'by a context, and the error wrapped on the way',
		([outer, ...rest], work) =>
			nest(
				outer,
				rest,
				work,
				(ctx) => ctx,
				(error) => {
					throw new Error('wrapped', { cause: error })
				},
			),
	],
]

function nest(
	policy: Policy | undefined,
	inner: readonly Policy[],
	work: (ctx: CallContext) => unknown,
	pass: (ctx: CallContext) => Parameters<Policy['execute']>[1],
	caught?: (error: unknown) => never,
	options?: Parameters<Policy['execute']>[1],
): Promise<unknown> {
	const [next, ...rest] = inner
	if (!policy) throw new Error('no policy')
	const within = (ctx: CallContext) => {
		const answer = nest(next, rest, work, pass, caught, pass(ctx))
		return caught ? answer.catch(caught) : answer
	}
	return policy.execute(next ? within : work, options)
}

/** The messages of an error and of its causes. */
function messages(error: unknown): readonly string[] {
	return error instanceof Error ? [error.message, ...messages(error.cause)] : []
}

/** Three attempts each. */
function retries(clock: VirtualRuntime, retried: string[], ...options: readonly RetryOptions[]): Retry[] {
	return options.map((own, place) => {
		const onRetry = () => retried.push(`retry ${place}`)
		return retry({ ...steady, maxRetries: 2, runtime: clock, onRetry, ...own })
	})
}

describe.each(forms)('nested retries, %s', (_, execute) => {
	async function run(work: (clock: VirtualRuntime) => Script, ...options: readonly RetryOptions[]) {
		const clock = virtualRuntime()
		const retried: string[] = []
		const script = work(clock)
		const result = await settled(clock, execute(retries(clock, retried, ...options), script))
		return { result, retried, calls: script.startedAt.length, error: result.ok ? undefined : result.error }
	}

	test('make 3 calls to a dead service, not 9, by the innermost', async () => {
		const { calls, retried } = await run(dead, {}, {})
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 1', 'retry 1'])
	})

	test('make 3 calls, not 27, with three levels', async () => {
		const { calls, retried } = await run(dead, {}, {}, {})
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 2', 'retry 2'])
	})

	test('do not retry permanent errors at any level', async () => {
		const { calls } = await run((clock) => dead(clock, permanent(new Error('no such user'))), {}, {})
		expect(calls).toBe(1)
	})

	test('recover like one retry', async () => {
		const { calls, result } = await run((clock) => failing(clock, new Error('a'), new Error('b')), {}, {})
		expect(result).toEqual({ ok: true, value: 'ok' })
		expect(calls).toBe(3)
	})

	test.each([
		['the inner one', {}, { nested: 'outermost' }],
		['the outer one', { nested: 'outermost' }, {}],
		['both', { nested: 'outermost' }, { nested: 'outermost' }],
	] as const)('leave retrying to the outermost if %s sets it', async (_who, outer, inner) => {
		const { calls, retried } = await run(dead, outer, inner)
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 0', 'retry 0'])
	})

	test.each([
		['first', { nested: 'outermost' }, {}, {}],
		['second', {}, { nested: 'outermost' }, {}],
	] as const)('leave retrying to the outermost if the %s of three sets it', async (_who, a, b, c) => {
		const { calls, retried } = await run(dead, a, b, c)
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 0', 'retry 0'])
	})

	test('leave retrying to the outermost if the third of three sets it', async () => {
		const { calls, retried } = await run(dead, {}, {}, { nested: 'outermost' })
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 0', 'retry 0'])
	})

	const isConflict = (error: unknown): boolean => messages(error).includes('conflict')
	const isNetwork = (error: unknown): boolean => messages(error).includes('network')

	test('retry outside what the inner one does not handle', async () => {
		const { result, retried, calls } = await run(
			(clock) => failing(clock, new Error('network'), new Error('conflict'), new Error('network')),
			{ shouldRetry: isConflict },
			{ shouldRetry: isNetwork },
		)
		expect(result).toEqual({ ok: true, value: 'ok' })
		expect(retried).toEqual(['retry 1', 'retry 0', 'retry 1'])
		expect(calls).toBe(4)
	})

	test('retry outside what the inner one considers permanent', async () => {
		const { result, retried } = await run(
			(clock) => failing(clock, permanent(new Error('conflict'))),
			{ shouldRetry: isConflict },
			{},
		)
		expect(result.ok).toBe(true)
		expect(retried).toEqual(['retry 0'])
	})

	test('retry outside what the inner one does not handle in its last attempt', async () => {
		const network = new Error('network')
		const { result, retried } = await run(
			(clock) => failing(clock, network, network, new Error('conflict')),
			{ shouldRetry: isConflict },
			{ shouldRetry: isNetwork },
		)
		expect(result.ok).toBe(true)
		expect(retried).toEqual(['retry 1', 'retry 1', 'retry 0'])
	})

	test('do not repeat outside what the inner one has exhausted, even if the outer one would', async () => {
		const { calls, retried } = await run(
			(clock) => dead(clock, new Error('network')),
			{ shouldRetry: () => true },
			{ shouldRetry: isNetwork },
		)
		expect(calls).toBe(3)
		expect(retried).toEqual(['retry 1', 'retry 1'])
	})

	test('end if no level handles the failure', async () => {
		const { calls } = await run(
			(clock) => dead(clock, new Error('syntax')),
			{ shouldRetry: isConflict },
			{ shouldRetry: isNetwork },
		)
		expect(calls).toBe(1)
	})

	test('retry if there is only one, whatever `nested` is', async () => {
		const { calls } = await run(dead, { nested: 'outermost' })
		expect(calls).toBe(3)
	})
})

describe('nested retries', () => {
	const pair = (clock: VirtualRuntime) => {
		const make = () => retry({ ...steady, maxRetries: 2, runtime: clock })
		return { outer: make(), inner: make() }
	}

	test('are found by explain: the outer call ended with inner-retry', async () => {
		const clock = virtualRuntime()
		const { outer, inner } = pair(clock)
		const answer = outer.execute((ctx) =>
			inner.execute(dead(clock), ctx).catch((cause) => {
				throw new Error('wrapped', { cause })
			}),
		)
		const result = await settled(clock, answer)
		const error = result.ok ? undefined : result.error
		expect(error).toMatchObject({ message: 'wrapped' })
		expect(explain(error)).toMatchObject({ stop: 'inner-retry' })
		expect(explain((error as Error).cause)).toMatchObject({
			stop: 'retries-exhausted',
			attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }],
		})
	})

	test('show the attempt of the outer call', async () => {
		const clock = virtualRuntime()
		const { outer, inner } = pair(clock)
		const wrapped = new Error('wrapped')
		const answer = outer.execute((ctx) =>
			inner.execute(dead(clock), ctx).catch((cause) => Promise.reject(Object.assign(wrapped, { cause }))),
		)
		await settled(clock, answer)
		expect(explain(wrapped)).toMatchObject({ attempts: [{ attempt: 1, errorMessage: 'wrapped: down' }] })
	})

	test('report the stop reason in the outer event', async () => {
		const clock = virtualRuntime()
		const { outer, inner } = pair(clock)
		const stops: unknown[] = []
		outer.subscribe((event) => event.type === 'retry_failure' && stops.push([event.attempts, event.stop]))
		await settled(
			clock,
			outer.execute((ctx) => inner.execute(dead(clock), ctx)),
		)
		expect(stops).toEqual([[1, 'inner-retry']])
	})

	test('do not affect an operation that handled the inner failure and succeeds', async () => {
		const clock = virtualRuntime()
		const outer = retry({ ...steady, runtime: clock })
		const inner = retry({ ...steady, maxRetries: 1, runtime: clock })
		const answer = outer.settle((ctx) => inner.execute(dead(clock), ctx).catch(() => 'handled'))
		await clock.runUntilIdle()
		const result = await answer
		expect(result).toEqual({ ok: true, value: 'handled' })
		expect(explain(result)).toMatchObject({ stop: 'success' })
	})

	test('do not affect a later attempt that fails with its own error', async () => {
		const clock = virtualRuntime()
		const outer = retry({
			...steady,
			maxRetries: 3,
			retryResult: (value) => value === 'poor',
			runtime: clock,
		})
		const inner = retry({ ...steady, maxRetries: 1, runtime: clock })
		const attempts: number[] = []
		const answer = outer.execute((ctx) => {
			attempts.push(ctx.attempt)
			if (ctx.attempt === 0) return inner.execute(dead(clock), ctx).catch(() => 'poor')
			return ctx.attempt === 1 ? Promise.reject(new Error('its own')) : 'good'
		})
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'good' })
		expect(attempts).toEqual([0, 1, 2])
	})

	test('do not affect the next attempt if a timeout orphaned the inner one', async () => {
		// The inner call ends after its attempt was given up, and must not be taken for part of the one after it.
		const clock = virtualRuntime()
		const outer = pipeline({ runtime: clock }, retry({ maxRetries: 2, baseDelayMs: 0 }), timeout(50))
		const inner = retry({ ...steady, runtime: clock })
		const attempts: number[] = []
		const answer = outer.execute((ctx) => {
			attempts.push(ctx.attempt)
			if (ctx.attempt === 0) return inner.execute(taking(clock, 80, new Error('deaf to its signal')), ctx)
			return ctx.attempt === 1 ? taking(clock, 40, new Error('its own'))() : 'good'
		})
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'good' })
		expect(attempts).toEqual([0, 1, 2])
	})

	test('let the outer retry an attempt that timed out around the inner one', async () => {
		const clock = virtualRuntime()
		const outer = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), timeout(150))
		const inner = retry({ ...steady, maxRetries: 9, runtime: clock })
		const work = dead(clock)
		await settled(
			clock,
			outer.execute((ctx) => inner.execute(work, ctx)),
		)
		expect(work.startedAt).toEqual([0, 100, 250, 350])
	})

	test.each([
		['a rate limiter', () => rateLimiter({ limit: 1, intervalMs: 50 })],
		['a breaker', () => circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 50 })],
	])('let the outer retry a rejection by %s between them', async (_, make) => {
		const clock = virtualRuntime()
		const gate = make()
		const around = retry({ ...steady, shouldRetry: () => true })
		const policy = pipeline({ runtime: clock }, around, gate, retry({ maxRetries: 0 }))
		await settled(
			clock,
			pipeline({ runtime: clock }, gate).execute(() => Promise.reject(new Error('down'))),
		)
		const work = failing(clock)
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.attempts).toEqual([1])
	})

	test('let the outer retry a rejection inside a call that got the context', async () => {
		const clock = virtualRuntime()
		const outer = retry({ ...steady, shouldRetry: () => true, runtime: clock })
		const full = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime: clock })
		const busy = full.execute(taking(clock, 50))
		const answer = outer.execute((ctx) => full.execute(({ attempt }) => `attempt ${attempt}`, ctx))
		expect(await settled(clock, answer)).toMatchObject({ ok: true })
		expect(clock.now()).toBe(100)
		await busy
	})

	test('inside a hedge: retries although it defers to the outermost, because there is no outer retry', async () => {
		const clock = virtualRuntime()
		const edge = retry({ ...steady, nested: 'outermost' })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), edge)
		const startedAt: number[] = []
		const answer = policy.execute(() => {
			const sent = startedAt.push(clock.now())
			return sent === 1 ? taking(clock, 1_000)() : sent === 2 ? taking(clock, 5, new Error('down'))() : 'ok'
		})
		await settled(clock, answer)
		expect(startedAt).toEqual([0, 10, 115])
	})
})
