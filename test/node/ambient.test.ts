import { describe, expect, test } from 'vitest'
import { type CallOptions, Deadline, explain, pipeline, retry, timeout } from 'yaoki'
import { currentContext, runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, settled, steady } from '../support/scenario.ts'

const twice = { ...steady, maxRetries: 2 }

describe('retries in an async context', () => {
	test('three attempts around three attempts on a dead dependency make three attempts, not nine', async () => {
		const clock = virtualRuntime()
		const inner = withAmbientContext(retry({ ...twice, runtime: clock }))
		const outer = withAmbientContext(retry({ ...twice, runtime: clock }))
		const script = dead(clock)
		const result = await settled(
			clock,
			outer.execute(async () => inner.execute(script)),
		)
		expect(script.startedAt).toHaveLength(3)
		expect(explain(result.ok ? undefined : result.error)?.stop).toBe('inner-retry')
	})

	test('a third layer or a wait in between does not multiply attempts', async () => {
		const clock = virtualRuntime()
		const policy = withAmbientContext(pipeline({ runtime: clock }, retry(twice), timeout(10_000)))
		const script = dead(clock)
		const between = () => new Promise<void>((resolve) => void clock.setTimer(5, resolve))
		await settled(
			clock,
			policy.execute(async () => {
				await between()
				return policy.execute(async () => {
					await between()
					return policy.execute(script)
				})
			}),
		)
		expect(script.startedAt).toHaveLength(3)
	})

	test("nested: 'outermost' lets only the outermost retry", async () => {
		const clock = virtualRuntime()
		const inner = withAmbientContext(retry({ ...twice, runtime: clock, nested: 'outermost' }))
		const outer = withAmbientContext(retry({ ...twice, runtime: clock }))
		const script = dead(clock)
		const started: number[] = []
		await settled(
			clock,
			outer.execute(() => {
				started.push(clock.now())
				return inner.execute(script)
			}),
		)
		expect(script.startedAt).toHaveLength(3)
		expect(started).toHaveLength(3)
	})

	test('policies without withAmbientContext do not know of each other', async () => {
		const clock = virtualRuntime()
		// Its own `shouldRetry` decides about errors whose retries are exhausted.
		const policy = retry({ ...twice, runtime: clock, shouldRetry: () => true })
		const script = dead(clock)
		await settled(
			clock,
			policy.execute(() => policy.execute(script)),
		)
		expect(script.startedAt).toHaveLength(9)
	})
})

describe('what calls inherit', () => {
	test('the deadline: the earlier of the two counts', async () => {
		const clock = virtualRuntime()
		const policy = withAmbientContext(retry({ ...steady, maxRetries: 9, runtime: clock }))
		const script = dead(clock)
		const deadline = Deadline.after(250, { runtime: clock })
		await settled(
			clock,
			policy.execute(() => policy.execute(script, { deadline: Deadline.after(9_000, { runtime: clock }) }), {
				deadline,
			}),
		)
		expect(script.startedAt).toEqual([0, 100])
	})

	test('the signal: aborting the outer call ends a wait of the inner one', async () => {
		const clock = virtualRuntime()
		const policy = withAmbientContext(retry({ ...steady, maxRetries: 9, runtime: clock }))
		const controller = new AbortController()
		const script = dead(clock)
		const result = settled(
			clock,
			policy.execute(() => policy.execute(script, { name: 'inner' }), { signal: controller.signal }),
		)
		clock.setTimer(50, () => controller.abort(new Error('enough')))
		expect(await result).toMatchObject({ error: { message: 'enough' } })
		expect(script.startedAt).toEqual([0])
	})

	test('key and idempotent, but not the name', async () => {
		const policy = withAmbientContext(retry())
		let seen: CallOptions | undefined
		await policy.execute(
			() =>
				policy.execute(
					(context) => {
						seen = context
					},
					{ name: 'inner' },
				),
			{ key: 'tenant-7', idempotent: false, name: 'outer' },
		)
		expect(seen?.key).toBe('tenant-7')
		expect(seen?.idempotent).toBe(false)
	})

	test('a context passed as options wins over the ambient one', async () => {
		const policy = withAmbientContext(retry())
		let seen: CallOptions | undefined
		await policy.execute(
			(outer) =>
				runWithContext({ key: 'other' }, () =>
					policy.execute((context) => {
						seen = context
					}, outer),
				),
			{ key: 'mine' },
		)
		expect(seen?.key).toBe('mine')
	})

	test('nothing outside a call', () => {
		expect(currentContext()).toBeUndefined()
	})
})

describe('runWithContext', () => {
	test('sets a deadline for all ambient calls inside', async () => {
		const clock = virtualRuntime()
		const policy = withAmbientContext(retry({ ...steady, maxRetries: 9, runtime: clock }))
		const script = dead(clock)
		const deadline = Deadline.after(250, { runtime: clock })
		await settled(
			clock,
			runWithContext({ deadline }, async () => policy.execute(script)),
		)
		expect(script.startedAt).toEqual([0, 100])
	})

	test('extends an outer context', async () => {
		const policy = withAmbientContext(retry())
		const deadline = Deadline.after(60_000)
		await runWithContext({ deadline }, () =>
			runWithContext({ key: 'k' }, () =>
				policy.execute((context) => {
					expect(context.deadline).toBe(deadline)
					expect(context.key).toBe('k')
				}),
			),
		)
	})
})

describe('withAmbientContext', () => {
	test('supports settle, wrap, bind and subscribe like the policy itself', async () => {
		const clock = virtualRuntime()
		const policy = withAmbientContext(retry({ ...twice, runtime: clock, name: 'db' }))
		const types: string[] = []
		policy.subscribe(exceptCalls((event) => types.push(event.type)))
		const outcome = policy.settle(dead(clock))
		await clock.runUntilIdle()
		expect(await outcome).toMatchObject({ ok: false })
		expect(await policy.wrap((n: number) => n + 1)(1)).toBe(2)
		expect(await policy.bind((_, n: number) => n + 1)(1)).toBe(2)
		expect(types).toEqual([
			'retry_attempt',
			'retry_attempt',
			'retry_failure',
			'retry_success',
			'retry_success',
		])
		expect(policy.name).toBe('db')
	})

	test('throws inside a pipeline, where it would have no effect', () => {
		expect(() => pipeline(withAmbientContext(retry(twice)))).toThrow('withAmbientContext(pipeline(...))')
	})
})
