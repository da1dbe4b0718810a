import { describe, expect, test } from 'vitest'
import {
	type CallContext,
	circuitBreaker,
	explain,
	hedge,
	type Policy,
	permanent,
	pipeline,
	type RetryOptions,
	retry,
	retryBudget,
	retryWithBackoff,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

/** Three attempts each. */
function useRetries(outerOptions: RetryOptions = {}, innerOptions: RetryOptions = {}) {
	const clock = virtualRuntime()
	const create = (own: RetryOptions) => retry({ ...steady, maxRetries: 2, runtime: clock, ...own })
	return { clock, outer: create(outerOptions), inner: create(innerOptions), work: dead(clock) }
}

const down = (): Error => new Error('down')

/** Fails with a new error each time, as most operations do. */
function freshlyDead() {
	const calls: number[] = []
	const work = ({ attempt }: CallContext) => {
		calls.push(attempt)
		return Promise.reject(down())
	}
	return Object.assign(work, { calls })
}

const run = (clock: VirtualRuntime, answer: Promise<unknown>) =>
	settled(clock, answer).then((result) => (result.ok ? undefined : (result.error as Error)))

describe('nested retries without a context', () => {
	test('make 3 attempts, not 9', async () => {
		const { clock, outer, inner, work } = useRetries()
		await run(
			clock,
			outer.execute(() => inner.execute(work)),
		)
		expect(work.startedAt).toHaveLength(3)
	})

	test('make 3 attempts, not 27, with three levels', async () => {
		const { clock, outer, inner } = useRetries()
		const middle = retry({ ...steady, maxRetries: 2, runtime: clock })
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => middle.execute(() => inner.execute(work))),
		)
		expect(work.calls).toHaveLength(3)
	})

	test('make 4 attempts with retryWithBackoff inside retryWithBackoff', async () => {
		const clock = virtualRuntime()
		const work = freshlyDead()
		await run(
			clock,
			retryWithBackoff(() => retryWithBackoff(work, { runtime: clock }), { runtime: clock }),
		)
		expect(work.calls).toHaveLength(4)
	})

	test('make no more attempts after 100 successes, when calls start without reading the clock', async () => {
		const { clock, outer, inner } = useRetries()
		for (let i = 0; i < 101; i++) await outer.execute(() => inner.execute(() => i))
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => inner.execute(work)),
		)
		expect(work.calls).toHaveLength(3)
	})

	test.each([1, 8])('detect each other by %i causes', async (causes) => {
		const { clock, outer, inner, work } = useRetries()
		const wrap = (error: unknown) => {
			let wrapped = error
			for (let i = 0; i < causes; i++) wrapped = new Error('wrapped', { cause: wrapped })
			throw wrapped
		}
		await run(
			clock,
			outer.execute(() => inner.execute(work).catch(wrap)),
		)
		expect(work.startedAt).toHaveLength(3)
	})

	test('retry an error whose causes form a cycle', async () => {
		const { clock, outer } = useRetries()
		const error = down()
		error.cause = new Error('cause', { cause: error })
		const work = dead(clock, error)
		await run(clock, outer.execute(work))
		expect(work.startedAt).toHaveLength(3)
	})

	test.each<[string, Policy]>([
		['a breaker', circuitBreaker()],
		['a hedge', hedge({ delayMs: 1_000_000 })],
		['a retry that passes the failure on', retry({ shouldRetry: () => false })],
		[
			'a retry with another classification',
			retry({ classify: () => ({ kind: 'permanent', isKnown: true }) }),
		],
	])('detect each other with %s between them', async (_, between) => {
		const { clock, outer, inner } = useRetries()
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => between.execute(() => inner.execute(work))),
		)
		expect(work.calls).toHaveLength(3)
	})

	test.each([
		['the time', { maxElapsedMs: 150 }, 2],
		['the budget', { budget: retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0 }) }, 1],
	] as const)('do not repeat what %s has ended', async (_, options, attempts) => {
		const { clock, outer, inner } = useRetries({}, options)
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => inner.execute(work)),
		)
		expect(work.calls).toHaveLength(attempts)
	})

	test('stop the outer retry in the attempt in which the inner one is exhausted', async () => {
		const { clock, outer, inner } = useRetries()
		const work = freshlyDead()
		const attempts: number[] = []
		await run(
			clock,
			outer.execute(({ attempt }) => {
				attempts.push(attempt)
				return attempt === 0 ? Promise.reject(down()) : inner.execute(work)
			}),
		)
		expect(attempts).toEqual([0, 1])
		expect(work.calls).toHaveLength(3)
	})

	test('recover like one retry', async () => {
		const { clock, outer, inner } = useRetries()
		const work = failing(clock, down(), down())
		expect(
			await settled(
				clock,
				outer.execute(() => inner.execute(work)),
			),
		).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toHaveLength(3)
	})
})

describe('an outer retry', () => {
	test('retries a constant error that ended an earlier call', async () => {
		const { clock, outer, inner } = useRetries()
		const constant = down()
		await run(clock, inner.execute(dead(clock, constant)))
		expect(explain(constant)).toMatchObject({ stop: 'retries-exhausted' })
		const work = dead(clock, constant)
		await run(clock, outer.execute(work))
		expect(work.startedAt).toHaveLength(3)
	})

	test('retries a constant error that concurrent calls end with', async () => {
		const { clock, outer, inner } = useRetries()
		const constant = down()
		const [first, second] = [dead(clock, constant), dead(clock, constant)]
		await run(clock, Promise.all([outer.settle(first), inner.settle(second)]))
		expect(first.startedAt).toHaveLength(3)
		expect(second.startedAt).toHaveLength(3)
	})

	test.each([
		['ended earlier', true],
		['started before the attempt and ended in it', false],
	])('retries a cached rejection of a call that %s', async (_, hasEnded) => {
		const { clock, outer, inner } = useRetries()
		const cached = inner.execute(dead(clock))
		if (hasEnded) await run(clock, cached)
		const attempts: number[] = []
		await run(
			clock,
			outer.execute(({ attempt }) => {
				attempts.push(attempt)
				return cached
			}),
		)
		expect(attempts).toEqual([0, 1, 2])
	})

	test('retries an attempt that fails with the error of an inner call of an earlier attempt', async () => {
		const { clock, outer, inner } = useRetries()
		const attempts: number[] = []
		let kept: unknown
		await run(
			clock,
			outer.execute(async ({ attempt }) => {
				attempts.push(attempt)
				if (attempt > 0) throw kept
				kept = await inner.execute(dead(clock)).catch((error) => error)
				throw down()
			}),
		)
		expect(attempts).toEqual([0, 1, 2])
	})

	test('retries a constant error that ended an earlier call, through a breaker', async () => {
		const { clock, outer, inner } = useRetries()
		const constant = down()
		await run(clock, inner.execute(dead(clock, constant)))
		const work = dead(clock, constant)
		const breaker = circuitBreaker()
		await run(
			clock,
			outer.execute(() => breaker.execute(work)),
		)
		expect(work.startedAt).toHaveLength(3)
	})

	test('retries around a policy without retries', async () => {
		const { clock, outer, inner } = useRetries({}, { maxRetries: 0 })
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => inner.execute(work)),
		)
		expect(work.calls).toHaveLength(3)
	})

	test('retries a call inside that its own signal has aborted', async () => {
		const { clock, outer, inner } = useRetries()
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => {
				const controller = new AbortController()
				const answer = inner.execute(work, { signal: controller.signal })
				controller.abort(new DOMException('too slow', 'TimeoutError'))
				return answer
			}),
		)
		expect(work.calls).toHaveLength(3)
	})

	test('retries an error of its own after it has handled the inner one', async () => {
		const { clock, outer, inner } = useRetries()
		const attempts: number[] = []
		await run(
			clock,
			outer.execute(async ({ attempt }) => {
				attempts.push(attempt)
				await inner.execute(dead(clock)).catch(() => {})
				throw down()
			}),
		)
		expect(attempts).toEqual([0, 1, 2])
	})

	test('asks its own shouldRetry', async () => {
		const asked: unknown[] = []
		const shouldRetry = (error: unknown) => asked.push(error) > 0
		const { clock, outer, inner } = useRetries({ shouldRetry })
		const work = freshlyDead()
		await run(
			clock,
			outer.execute(() => inner.execute(work)),
		)
		expect(asked).toHaveLength(2)
		expect(work.calls).toHaveLength(9)
	})

	test('stops with its own reason for a permanent error', async () => {
		const { clock, outer, inner } = useRetries({}, { shouldRetry: () => true })
		const error = await run(
			clock,
			outer.execute(() => inner.execute(() => Promise.reject(permanent(down())))),
		)
		expect(explain(error)).toMatchObject({ stop: 'permanent' })
	})
})

describe('explain', () => {
	test('shows why the outer retry stopped, and the attempts of the inner one', async () => {
		const { clock, outer, inner } = useRetries({ name: 'outer' }, { name: 'inner' })
		const error = await run(
			clock,
			outer.execute(() => inner.execute(freshlyDead())),
		)
		expect(explain(error)).toMatchObject({
			name: 'outer',
			stop: 'inner-retry',
			attempts: [{ attempt: 1 }],
			inner: { name: 'inner', stop: 'retries-exhausted', attempts: [{}, {}, { attempt: 3 }] },
		})
		expect(String(explain(error)).split('\n')).toEqual([
			'outer: 1 attempt in 300 ms, stopped: inner-retry',
			'  #1 at 0 ms, took 300 ms: transient (Error: down)',
			'inside: inner: 3 attempts in 300 ms, stopped: retries-exhausted',
			'  #1 at 0 ms, took 0 ms: transient (Error: down), retry in 100 ms (backoff)',
			'  #2 at 100 ms, took 0 ms: transient (Error: down), retry in 200 ms (backoff)',
			'  #3 at 300 ms, took 0 ms: transient (Error: down)',
		])
	})

	test('shows the inner attempts if the context was passed on and the error wrapped', async () => {
		const { clock, outer, inner } = useRetries()
		const error = await run(
			clock,
			outer.execute((ctx) =>
				inner.execute(freshlyDead(), ctx).catch((cause) => {
					throw new Error('wrapped', { cause })
				}),
			),
		)
		expect(explain(error)).toMatchObject({ stop: 'inner-retry', inner: { attempts: [{}, {}, {}] } })
	})

	test('does not show earlier calls that ended with a constant error', async () => {
		const { clock, inner } = useRetries()
		const constant = down()
		for (let i = 0; i < 3; i++) await run(clock, inner.execute(dead(clock, constant)))
		expect(explain(constant)).not.toHaveProperty('inner')
	})

	test('is the same in events', async () => {
		const { clock, outer, inner } = useRetries()
		const stops: unknown[] = []
		outer.subscribe((event) => event.type === 'retry_failure' && stops.push([event.attempts, event.stop]))
		const policy = pipeline(outer)
		await run(
			clock,
			policy.execute(() => inner.execute(freshlyDead())),
		)
		expect(stops).toEqual([[1, 'inner-retry']])
	})
})
