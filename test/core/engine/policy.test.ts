import { beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import {
	type CallContext,
	Deadline,
	InvalidArgumentError,
	type Policy,
	pipeline,
	retry,
	type Settled,
} from 'yaoki'
import { faults, skipDelays, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
let policy: Policy
beforeEach(() => {
	clock = virtualRuntime()
	policy = retry({ ...steady, runtime: clock })
})

describe('execute', () => {
	it('passes the context to the operation: attempt from 0, signal, deadline', async () => {
		const deadline = Deadline.after(10_000, { runtime: clock })
		const seen: unknown[] = []
		const answer = policy.execute(
			(context) => {
				seen.push([context.attempt, context.signal.aborted, context.deadline === deadline])
				if (context.attempt === 0) throw new Error('x')
				return 'ok'
			},
			{ deadline },
		)
		await settled(clock, answer)
		expect(seen).toEqual([
			[0, false, true],
			[1, false, true],
		])
	})

	it('keeps the attempt number in the context of an operation that outlives its attempt', async () => {
		const contexts: CallContext[] = []
		await settled(
			clock,
			policy.execute((context) => {
				contexts.push(context)
				throw new Error('x')
			}),
		)
		expect(contexts.map((context) => context.attempt)).toEqual([0, 1, 2, 3])
	})

	it('accepts a context as call options', async () => {
		const deadline = Deadline.after(1000, { runtime: clock })
		const inner = retry({ runtime: clock })
		await policy.execute((ctx) => inner.execute((deeper) => expect(deeper.deadline).toBe(deadline), ctx), {
			deadline,
		})
	})

	it('rejects, and does not throw, if the operation is not a function', async () => {
		const answer = policy.execute('work' as never)
		await expect(answer).rejects.toBeInstanceOf(InvalidArgumentError)
		expect((await policy.settle(undefined as never)).ok).toBe(false)
	})

	it('rejects an invalid deadline', async () => {
		await expect(policy.execute(() => 1, { deadline: 5000 as never })).rejects.toThrow(
			'Invalid option "deadline": expected a Deadline: Deadline.after(ms), got 5000',
		)
	})

	it('infers the result type', () => {
		expectTypeOf(policy.execute(() => 5)).toEqualTypeOf<Promise<number>>()
		expectTypeOf(policy.execute(async () => 'x')).toEqualTypeOf<Promise<string>>()
		expectTypeOf(policy.settle(async () => 'x')).toEqualTypeOf<Promise<Settled<string>>>()
	})
})

describe('settle', () => {
	it('returns the value', async () => {
		expect(await policy.settle(() => 5)).toStrictEqual({ ok: true, value: 5 })
	})
	it('never rejects: failures, sync throws, aborts, throwing hooks, expired deadlines', async () => {
		const error = new Error('x')
		const aborted = AbortSignal.abort(error)
		const none = retry({ maxRetries: 0, runtime: clock })
		const hooked = retry({
			runtime: clock,
			shouldRetry: () => {
				throw error
			},
		})
		expect(await none.settle(() => Promise.reject(error))).toStrictEqual({ ok: false, error })
		expect(
			await none.settle(() => {
				throw error
			}),
		).toStrictEqual({ ok: false, error })
		expect(await none.settle(() => 1, { signal: aborted })).toStrictEqual({ ok: false, error })
		expect(await hooked.settle(() => Promise.reject(new Error('y')))).toStrictEqual({ ok: false, error })
		expect((await none.settle(() => 1, { deadline: Deadline.after(0, { runtime: clock }) })).ok).toBe(false)
	})
})

describe('wrap', () => {
	it('keeps the signature, the arguments and `this`', async () => {
		const shop = {
			discount: 5,
			async price(amount: number, currency = 'EUR') {
				return `${amount - this.discount} ${currency}`
			},
		}
		const price = policy.wrap(shop.price)
		expectTypeOf(price).toEqualTypeOf(shop.price)
		expect(await price.call(shop, 20)).toBe('15 EUR')
	})
	it('makes a synchronous function return a promise', async () => {
		const double = policy.wrap((n: number) => n * 2)
		expectTypeOf(double).toEqualTypeOf<(n: number) => Promise<number>>()
		expect(await double(4)).toBe(8)
	})
	it('retries every call separately', async () => {
		const work = failing(clock, new Error('a'), new Error('b'))
		const wrapped = policy.wrap((context: CallContext) => work(context))
		expect((await settled(clock, wrapped({ attempt: 0 } as CallContext))).ok).toBe(true)
		expect(work.attempts).toHaveLength(3)
	})
})

describe('bind', () => {
	it('returns a function of the arguments whose operation sees the context', async () => {
		const load = policy.bind(async ({ attempt }, id: string, times: number) => {
			if (attempt < times) throw new Error('x')
			return `${id} after ${attempt}`
		})
		expectTypeOf(load).toEqualTypeOf<(id: string, times: number) => Promise<string>>()
		expect(await settled(clock, load('7', 2))).toEqual({ ok: true, value: '7 after 2' })
	})
})

describe('a pipeline', () => {
	it('a pipeline of no policies is the bare call, and one of several is one policy', async () => {
		expect(await pipeline().execute(() => 5)).toBe(5)
		const many = pipeline(...Array.from({ length: 50 }, () => faults()), policy)
		expect(await many.execute(() => 5)).toBe(5)
	})

	it('runs outermost first: a retry around faults retries them', async () => {
		let left = 2
		const error = () => (left-- > 0 ? new Error('injected') : undefined)
		const flaky = pipeline(policy, faults({ errorRate: 1, error }))
		const work = vi.fn(() => 'ok')
		const answer = await settled(clock, flaky.execute(work))
		expect(answer.ok).toBe(false)
		expect(work).not.toHaveBeenCalled()
		expect(clock.now()).toBe(700)
	})

	it('can be nested', async () => {
		const nested = pipeline(pipeline(pipeline(policy)), faults())
		expect((await settled(clock, nested.execute(failing(clock, new Error('x'))))).ok).toBe(true)
	})

	it('provides its runtime to policies without one, through nested pipelines', async () => {
		const work = dead(clock)
		const outer = pipeline({ runtime: clock }, pipeline(retry(steady)))
		await settled(clock, outer.execute(work))
		expect(work.startedAt).toEqual([0, 100, 300, 700])
	})

	it("keeps a policy's own runtime", async () => {
		const other = virtualRuntime()
		const work = dead(other)
		const answer = pipeline({ runtime: clock }, retry({ ...steady, runtime: other })).execute(work)
		await settled(other, answer)
		expect([work.startedAt.length, clock.now()]).toEqual([4, 0])
	})

	it('extends the classification for all its policies', async () => {
		const work = failing(clock, new Error('no such tenant'))
		const strict = pipeline(
			{
				classify: (e, next) =>
					String(e).includes('tenant') ? { kind: 'permanent', isKnown: true } : next(e),
			},
			policy,
		)
		expect((await settled(clock, strict.execute(work))).ok).toBe(false)
		expect(work.attempts).toHaveLength(1)
	})

	it('rejects a value that is not a policy, with its position', () => {
		expect(() => pipeline(policy, {} as never)).toThrow('Invalid argument "policies[1]"')
		expect(() => pipeline({ classify: 5 as never }, policy)).toThrow(
			'Invalid option "classify": expected a function, got 5',
		)
	})

	it('a pipeline with two retries does not multiply attempts: the innermost retries', async () => {
		const work = dead(clock)
		await settled(clock, pipeline(policy, policy).execute(work))
		expect(work.attempts).toHaveLength(4)
	})
})

describe('skipDelays', () => {
	it('makes the same attempts without waiting, on the system clock', async () => {
		const seen: number[] = []
		const slow = retry({
			maxRetries: 3,
			baseDelayMs: 60_000,
			maxDelayMs: 600_000,
			jitterStrategy: 'none',
			onRetry: (_, __, ms) => seen.push(ms),
		})
		expect((await skipDelays(slow).settle(() => Promise.reject(new Error('x')))).ok).toBe(false)
		expect(seen).toEqual([60_000, 120_000, 240_000])
	})

	it('ends at maxElapsedMs as with real waits', async () => {
		const work = vi.fn(() => Promise.reject(new Error('x')))
		await skipDelays(retry({ ...steady, maxElapsedMs: 650 })).settle(work)
		expect(work).toHaveBeenCalledTimes(3)
	})

	it("lets waits of concurrent calls overlap, so that no call uses another's limit", async () => {
		// On a clock that stands still, so that a busy machine uses up nothing of the limit.
		const hurried = skipDelays(retry({ ...steady, maxElapsedMs: 750, runtime: virtualRuntime() }))
		const works = Array.from({ length: 100 }, () => vi.fn(() => Promise.reject(new Error('x'))))
		await Promise.all(works.map((work) => hurried.settle(work)))
		expect(works.map((work) => work.mock.calls.length)).toEqual(works.map(() => 4))
	})

	it('works for a whole pipeline and passes its events on', async () => {
		const events: string[] = []
		const hurried = skipDelays(
			pipeline(retry({ baseDelayMs: 60_000, maxDelayMs: 600_000 }), faults({ latencyMs: 5_000 })),
		)
		hurried.subscribe(exceptCalls((event) => events.push(event.type)))
		expect((await hurried.settle(() => Promise.reject(new Error('x')))).ok).toBe(false)
		expect(events).toEqual(['retry_attempt', 'retry_attempt', 'retry_attempt', 'retry_failure'])
	})
})
