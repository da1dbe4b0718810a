import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { CircuitOpenError, circuitBreaker, Deadline, explain, pipeline, retry, YaokiError } from 'yaoki'
import { calls, errorOf, Held, never, opened, sensitive, setup } from './setup.ts'

describe('execute', () => {
	test('(fn, options) passes the options to the call', async () => {
		const { breaker } = setup()
		expect(await breaker.execute(({ key }) => key, { key: 'a' })).toBe('a')
	})

	test("(fn, fallback) returns the fallback's result while the circuit is open, with the rejection as argument", async () => {
		const { breaker, clock } = await opened()
		await clock.advance(400)
		const work = vi.fn(() => 'setup')
		const answer = await breaker.execute(work, (error) => `${error.name}, back in ${error.retryAfterMs}`)
		expect(answer).toBe('CircuitOpenError, back in 600')
		expect(work).not.toHaveBeenCalled()
	})

	test("(fn, fallback, options) passes the call's key, signal and deadline to the fallback", async () => {
		const { breaker } = await opened()
		const { signal } = new AbortController()
		const deadline = Deadline.after(1_000)
		const context = await breaker.execute(
			() => undefined,
			(_, context) => context,
			{ key: 'a', signal, deadline },
		)
		expect(context).toMatchObject({ key: 'a', signal, deadline, attempt: 0 })
	})

	test('(fn, fallback) awaits an async fallback and throws its error', async () => {
		const { breaker } = await opened()
		expect(
			await breaker.execute(
				() => 1,
				async () => 2,
			),
		).toBe(2)
		const nothingCached = () => Promise.reject(new Error('nothing in the cache'))
		await expect(breaker.execute(() => 1, nothingCached)).rejects.toThrow('nothing in the cache')
	})

	test('(fn, fallback) applies to excess callers of a half-open circuit', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const probe = new Held()
		const first = breaker.execute(probe.work, () => 'from the cache')
		expect(
			await breaker.execute(
				() => 'setup',
				() => 'from the cache',
			),
		).toBe('from the cache')
		probe.succeed()
		expect(await first).toBe('ok')
	})

	test('(fn, fallback) does not apply to an error of the operation, not even the one that opens the circuit', async () => {
		const { breaker } = setup(sensitive)
		const fallback = vi.fn()
		await expect(breaker.execute(() => Promise.reject(new Error('down')), fallback)).rejects.toThrow('down')
		expect(breaker.currentState).toBe('open')
		expect(fallback).not.toHaveBeenCalled()
	})

	test('(fn, fallback) does not apply to a breaker that rejects inside the operation', async () => {
		const inner = await opened({ name: 'inner' })
		const { breaker } = setup({ ...sensitive, name: 'outer' })
		const fallback = vi.fn()
		const nested = breaker.execute(() => inner.breaker.execute(() => 1), fallback)
		await expect(nested).rejects.toThrow('inner: circuit is open')
		expect(fallback).not.toHaveBeenCalled()
		expect(breaker.currentState).toBe('closed')
	})

	test("(fn, fallback) does not mask the caller's own abort", async () => {
		const { breaker } = await opened()
		const fallback = vi.fn()
		const signal = AbortSignal.abort(new Error('I changed my mind'))
		await expect(breaker.execute(() => 1, fallback, { signal })).rejects.toThrow('I changed my mind')
		expect(fallback).not.toHaveBeenCalled()
	})

	test('(fn, fallback) in shadow mode calls the operation', async () => {
		const { breaker } = await opened({ shadow: true })
		const fallback = vi.fn()
		expect(await breaker.execute(() => 'setup', fallback)).toBe('setup')
		expect(fallback).not.toHaveBeenCalled()
	})

	test('(fn, fallback, options) takes both, (fn, undefined, options) only the options', async () => {
		const { breaker } = setup(sensitive)
		const keyOf = ({ key }: { key: string | undefined }) => key
		expect(await breaker.execute(keyOf, () => 'fallback', { key: 'a' })).toBe('a')
		expect(await breaker.execute(keyOf, undefined, { key: 'b' })).toBe('b')
		await calls(breaker, 'f')
		expect(await breaker.execute(keyOf, () => 'fallback', { key: 'a' })).toBe('fallback')
	})

	test('has the type of both results', () => {
		const breaker = circuitBreaker()
		const number = async () => 1
		const nothing = async () => null
		expectTypeOf(() => breaker.execute(number)).returns.toEqualTypeOf<Promise<number>>()
		expectTypeOf(() => breaker.execute(number, { name: 'n' })).returns.toEqualTypeOf<Promise<number>>()
		expectTypeOf(() => breaker.execute(number, nothing)).returns.toEqualTypeOf<Promise<number | null>>()
		expectTypeOf(() => breaker.execute(number, (error) => error.retryAfterMs)).returns.toEqualTypeOf<
			Promise<number>
		>()
		expectTypeOf(() => breaker.execute(number, nothing, { name: 'n' })).returns.toEqualTypeOf<
			Promise<number | null>
		>()
		expectTypeOf(breaker.wrap((id: string) => id.length))
			.parameter(0)
			.toBeString()
	})

	test('settle, wrap and bind are rejected alike', async () => {
		const { breaker } = await opened()
		const rejection = { code: 'YAOKI_CIRCUIT_OPEN' }
		expect(await breaker.settle(() => 1)).toMatchObject({ ok: false, error: rejection })
		await expect(breaker.wrap(() => 1)()).rejects.toMatchObject(rejection)
		await expect(breaker.bind(() => 1)()).rejects.toMatchObject(rejection)
	})
})

describe('a CircuitOpenError', () => {
	test('names the breaker and the time to retry, in whole milliseconds', async () => {
		const { breaker, clock } = await opened({ name: 'payments' })
		await clock.advance(250.25)
		const error = errorOf(await breaker.settle(() => 1))
		expect(error).toBeInstanceOf(CircuitOpenError)
		expect(error).toBeInstanceOf(YaokiError)
		expect(error).toMatchObject({
			name: 'CircuitOpenError',
			code: 'YAOKI_CIRCUIT_OPEN',
			retryAfterMs: 750,
			message: 'payments: circuit is open, retry in 750 ms',
		})
	})

	test('has the error that opened the circuit as its cause, alone and in a pipeline', async () => {
		const { breaker, clock } = setup(sensitive)
		const down = new Error('down')
		await breaker.settle(() => Promise.reject(down))
		for (const policy of [breaker, pipeline({ runtime: clock }, breaker, retry())]) {
			const error = errorOf(await policy.settle(() => 1))
			expect(error).toMatchObject({ name: 'CircuitOpenError', cause: down })
			expect(Object.keys(error as object)).not.toContain('cause')
		}
		await expect(breaker.execute(() => 1)).rejects.toMatchObject({ cause: down })
	})

	test('has no cause if a result opened the circuit, or an operator isolated it', async () => {
		const { breaker } = setup({ ...sensitive, isFailureResult: (value) => value === 'down' })
		await breaker.execute(() => 'down')
		expect(errorOf(await breaker.settle(() => 1))).not.toHaveProperty('cause')
		breaker.reset()
		breaker.isolate()
		await expect(breaker.execute(() => 1)).rejects.not.toHaveProperty('cause')
	})

	test('has no cause after the circuit was closed and isolated', async () => {
		const { breaker } = await opened()
		breaker.reset()
		breaker.isolate()
		expect(errorOf(await breaker.settle(() => 1))).not.toHaveProperty('cause')
	})

	test('never names a time that is too early', async () => {
		const { breaker, clock } = await opened({ resetTimeoutMs: 1_000.5 })
		const error = errorOf(await breaker.settle(() => 1))
		expect(error).toMatchObject({ retryAfterMs: 1_001 })
		await clock.advance(1_001)
		expect(await breaker.execute(() => 1)).toBe(1)
	})

	test("a CircuitOpenError of a half-open circuit names the end of the probe's timeout", async () => {
		const { breaker, clock } = await opened({ probeTimeoutMs: 400 })
		await clock.advance(1_000)
		void breaker.execute(never)
		await clock.advance(100)
		expect(errorOf(await breaker.settle(() => 1))).toMatchObject({ retryAfterMs: 300 })
	})

	test('has a stack that leads to the caller, alone and in a pipeline', async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline({ runtime: clock }, breaker, retry())
		for (const each of [breaker, policy]) {
			const loadTheUser = () => each.settle(() => 1)
			expect(errorOf(await loadTheUser())).toMatchObject({
				stack: expect.stringMatching(/loadTheUser .*execute\.test\.ts/),
			})
		}
	})

	test('is a new object for every caller', async () => {
		const { breaker } = await opened()
		expect(errorOf(await breaker.settle(() => 1))).not.toBe(errorOf(await breaker.settle(() => 1)))
	})

	test('is explained: no attempt, and why', async () => {
		const { breaker } = await opened({ name: 'payments' })
		const result = await breaker.settle(() => 1, { name: 'charge' })
		for (const held of [result, errorOf(result)]) {
			expect(explain(held)).toMatchObject({ name: 'charge', attempts: [], stop: 'rejected' })
			expect(String(explain(held))).toContain('payments: circuit is open, retry in 1 s')
		}
	})
})
