/** `engine.run`: a function runs once per key, without HTTP. */
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { classify, retry } from 'yaoki'
import {
	IdempotencyConflictError,
	type IdempotencyEvent,
	type IdempotencyOptions,
	type IdempotencyRunContext,
	type IdempotencyStore,
	idempotency,
	memoryIdempotencyStore,
} from 'yaoki/idempotency'
import { virtualRuntime } from 'yaoki/testing'
import { storeWith } from '../adapters/stores.ts'
import { openSqlite } from '../store/open-sqlite.ts'

const ADA = { principal: 'ada' }

function setup(
	options: Partial<IdempotencyOptions> = {},
	methods: (base: IdempotencyStore) => Partial<IdempotencyStore> = () => ({}),
) {
	const runtime = virtualRuntime()
	const memory = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const store = storeWith(methods(memory), memory)
	const engine = idempotency({ store, runtime, principal: () => 'ada', purgeEveryMs: 0, ...options })
	const events: IdempotencyEvent[] = []
	engine.subscribe((event) => events.push(event))
	return { runtime, engine, events, store: memory }
}

const never = () => new Promise<never>(() => {})

const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
	try {
		await promise
	} catch (error) {
		return error
	}
	throw new Error('expected to reject')
}

describe('a repeated run', () => {
	test('returns the stored result for the same input, without calling the function', async () => {
		const { engine, events } = setup()
		const charge = vi.fn(async () => ({ id: 'c1', at: new Date(0) }))
		const first = await engine.run('k1', { amount: 5, currency: 'EUR' }, charge, ADA)
		const second = await engine.run('k1', { currency: 'EUR', amount: 5 }, charge, ADA)
		expectTypeOf(first).toEqualTypeOf<{ id: string; at: string }>()
		expect(first).toEqual({ id: 'c1', at: '1970-01-01T00:00:00.000Z' })
		expect(second).toEqual(first)
		expect(charge).toHaveBeenCalledTimes(1)
		expect(events).toMatchObject([
			{ type: 'idempotency_claimed', method: 'run', route: 'run', isRerun: false },
			{ type: 'idempotency_replayed', method: 'run', route: 'run', statusCode: 200 },
		])
	})

	test.each([[undefined], [null], [0], [''], [[1, 2]]])('returns the result %j again', async (result) => {
		const { engine } = setup()
		expect(await engine.run('k1', 1, () => result, ADA)).toEqual(result)
		expect(await engine.run('k1', 1, never, ADA)).toEqual(result)
	})

	test('rejects another input, with the code in a field', async () => {
		const { engine } = setup()
		await engine.run('k1', { amount: 5 }, () => 1, ADA)
		const error = await failureOf(engine.run('k1', { amount: 6 }, never, ADA))
		expect(error).toBeInstanceOf(IdempotencyConflictError)
		expect(error).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_CONFLICT', reason: 'key-reused', statusCode: 422 })
		expect(classify(error).kind).toBe('permanent')
		expect(classify(error).kind).toBe('permanent')
	})

	test('ignores the excluded fields of the input', async () => {
		const { engine } = setup({ excludedFields: ['sentAt'] })
		await engine.run('k1', { amount: 5, sentAt: 1 }, () => 'first', ADA)
		expect(await engine.run('k1', { amount: 5, sentAt: 2 }, never, ADA)).toBe('first')
	})

	test('rejects if the result was larger than maxBodyBytes, and the first run returns it', async () => {
		const { engine } = setup({ maxBodyBytes: 10 })
		expect(await engine.run('k1', 1, () => 'x'.repeat(20), ADA)).toHaveLength(20)
		const error = await failureOf(engine.run('k1', 1, never, ADA))
		expect(error).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_CONFLICT', reason: 'not-stored' })
	})
})

describe('a key', () => {
	test('belongs to a principal and a route, and never meets a key of an HTTP request', async () => {
		const { engine } = setup()
		const results = [
			await engine.run('k1', 1, () => 'ada', ADA),
			await engine.run('k1', 1, () => 'bob', { principal: 'bob' }),
			await engine.run('k1', 1, () => 'mail', { ...ADA, route: 'mail' }),
		]
		expect(results).toEqual(['ada', 'bob', 'mail'])
		expect(
			await engine.begin({ principal: 'ada', method: 'RUN', route: 'run', key: 'k1' }, 'f'),
		).toMatchObject({ kind: 'run' })
		const identity = { principal: 'ada', method: 'run', route: 'mail', key: 'k1' }
		expect(await engine.find(identity)).toMatchObject({ state: 'completed', status: 200 })
	})

	test.each(['', 'k'.repeat(256), 7 as never])('the key %j is rejected', async (key) => {
		const { engine } = setup()
		const fn = vi.fn()
		const error = await failureOf(engine.run(key, 1, fn, ADA))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'key' })
		expect(fn).not.toHaveBeenCalled()
	})

	test.each([
		['k1', { principal: '' }, 'principal'],
		['k1', {} as never, 'principal'],
		['k1', { principal: 'ada', route: '' }, 'route'],
		['k1', { principal: 'ada', rout: 'mail' } as never, 'rout'],
	])('the key %j with the options %j is rejected', async (key, options, option) => {
		const { engine } = setup()
		const fn = vi.fn()
		const error = await failureOf(engine.run(key, 1, fn, options))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', optionPath: option })
		expect(fn).not.toHaveBeenCalled()
	})

	test('is rejected with an input of more than 256 levels', async () => {
		const { engine } = setup()
		const deep = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`)
		expect(await failureOf(engine.run('k1', deep, never, ADA))).toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_JSON_TOO_DEEP',
		})
	})
})

describe('while another run is in progress', () => {
	test('a call waits for its result', async () => {
		const { engine, runtime } = setup()
		const gate = Promise.withResolvers<string>()
		const first = engine.run('k1', 1, () => gate.promise, ADA)
		const second = engine.run('k1', 1, never, ADA)
		await runtime.advance(5_000)
		gate.resolve('charged')
		await runtime.advance(1_000)
		expect(await Promise.all([first, second])).toEqual(['charged', 'charged'])
	})

	test('a call rejects after waitMs with a retryAfterMs, which a retry waits for', async () => {
		const { engine, runtime } = setup({ waitMs: 1_000 })
		const gate = Promise.withResolvers<string>()
		const first = engine.run('k1', 1, () => gate.promise, ADA)
		const waiting = failureOf(engine.run('k1', 1, never, ADA))
		await runtime.advance(1_000)
		const error = await waiting
		expect(error).toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_CONFLICT',
			reason: 'in-progress',
			statusCode: 409,
		})
		const { retryAfterMs } = error as IdempotencyConflictError
		expect(retryAfterMs).toBeGreaterThanOrEqual(2_500)
		expect(retryAfterMs).toBeLessThanOrEqual(5_000)
		expect(classify(error)).toEqual({ kind: 'throttled', isKnown: true, retryAfterMs })
		const waits: number[] = []
		const repeated = retry({ runtime, onRetry: (_error, _attempt, delayMs) => waits.push(delayMs) }).execute(
			() => engine.run('k1', 1, never, ADA),
		)
		await runtime.advance(1_000)
		gate.resolve('charged')
		await runtime.advance(60_000)
		expect(await Promise.all([first, repeated])).toEqual(['charged', 'charged'])
		expect(waits).toHaveLength(1)
		expect(waits[0]).toBeGreaterThanOrEqual(2_500)
	})

	test('a call that is aborted rejects with the reason, also if the store may be passed', async () => {
		const { engine, runtime } = setup({ onStoreError: 'pass' })
		void engine.run('k1', 1, never, ADA)
		const controller = new AbortController()
		const second = failureOf(engine.run('k1', 1, never, { ...ADA, signal: controller.signal }))
		await runtime.advance(100)
		controller.abort(new Error('left'))
		expect(await second).toMatchObject({ message: 'left' })
	})
})

describe('a run that fails', () => {
	test('releases the key and keeps its steps; the error is rethrown untouched', async () => {
		const { engine } = setup()
		const failure = { custom: true }
		const charge = vi.fn(() => 'c1')
		const contexts: Pick<IdempotencyRunContext, 'isRerun' | 'isProtected'>[] = []
		const run = (isBroken: boolean) =>
			engine.run(
				'k1',
				1,
				async ({ step, isRerun, isProtected }) => {
					contexts.push({ isRerun, isProtected })
					const id = await step('charge', charge)
					if (isBroken) throw failure
					return id
				},
				ADA,
			)
		expect(await failureOf(run(true))).toBe(failure)
		expect(await run(false)).toBe('c1')
		expect(charge).toHaveBeenCalledTimes(1)
		expect(contexts).toEqual([
			{ isRerun: false, isProtected: true },
			{ isRerun: true, isProtected: true },
		])
	})

	test('is repeated after a crash when its lease has ended', async () => {
		const { runtime, store } = setup()
		const options = { store, runtime, principal: () => 'ada', purgeEveryMs: 0 }
		const crashed = idempotency({ ...options, leaseMs: 1_000, maxRunMs: 1_000 })
		void crashed.run('k1', 1, never, ADA)
		await runtime.advance(3_000)
		expect(await idempotency(options).run('k1', 1, () => 'again', ADA)).toBe('again')
	})

	test("is rejected after a crash until an operator decides, with abandoned: 'reject'", async () => {
		const { engine, runtime } = setup({ abandoned: 'reject', leaseMs: 1_000, maxRunMs: 1_000 })
		void engine.run('k1', 1, never, ADA)
		await runtime.advance(3_000)
		const error = await failureOf(engine.run('k1', 1, never, ADA))
		expect(error).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_CONFLICT', reason: 'outcome-unknown' })
		expect((error as IdempotencyConflictError).retryAfterMs).toBeUndefined()
		const identity = { principal: 'ada', method: 'run', route: 'run', key: 'k1' }
		const body = new TextEncoder().encode('{"id":"c1"}')
		await engine.resolve(identity, { status: 200, headers: [], body })
		expect(await engine.run('k1', 1, never, ADA)).toEqual({ id: 'c1' })
	})

	test('has an aborted signal and stores nothing if it loses its lease', async () => {
		const { engine, runtime, events } = setup({ leaseMs: 1_000, maxRunMs: 1_000 })
		const gate = Promise.withResolvers<string>()
		let signal: AbortSignal | undefined
		const run = engine.run(
			'k1',
			1,
			(context) => {
				signal = context.signal
				return gate.promise
			},
			ADA,
		)
		await runtime.advance(3_000)
		expect(signal?.aborted).toBe(true)
		expect(await engine.run('k1', 1, () => 'second', ADA)).toBe('second')
		gate.resolve('first')
		expect(await run).toBe('first')
		expect(await engine.run('k1', 1, never, ADA)).toBe('second')
		expect(events).toContainEqual(expect.objectContaining({ type: 'idempotency_fenced' }))
	})
})

describe('a result that JSON cannot hold', () => {
	const cyclic: Record<string, unknown> = {}
	cyclic['self'] = cyclic

	test.each([
		['a bigint', 1n],
		['an object that contains itself', cyclic],
	])('rejects and completes the key, because the function has run: %s', async (_, result) => {
		const { engine } = setup()
		const charge = vi.fn(() => result)
		const error = await failureOf(engine.run('k1', 1, charge, ADA))
		expect(error).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_RESULT_NOT_JSON', cause: expect.any(TypeError) })
		const repeated = await failureOf(engine.run('k1', 1, charge, ADA))
		expect(repeated).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_CONFLICT', reason: 'not-stored' })
		expect(charge).toHaveBeenCalledTimes(1)
		expect([error, repeated].map((each) => classify(each).kind)).toEqual(['permanent', 'permanent'])
	})

	test('completes the key later, if the store fails', async () => {
		let isDown = true
		const { engine, runtime } = setup({}, (base) => ({
			complete: async (...args) => {
				if (isDown) throw new Error('the database is down')
				return base.complete(...args)
			},
		}))
		const run = failureOf(engine.run('k1', 1, () => 1n, ADA))
		await runtime.advance(1_000)
		isDown = false
		await runtime.advance(1_000)
		expect(await run).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_RESULT_NOT_JSON' })
		expect(await failureOf(engine.run('k1', 1, never, ADA))).toMatchObject({ reason: 'not-stored' })
	})

	test("rejects without protection too, with onStoreError: 'pass'", async () => {
		const claim = () => Promise.reject(new Error('the database is down'))
		const { engine } = setup({ onStoreError: 'pass' }, () => ({ claim }))
		expect(await failureOf(engine.run('k1', 1, () => 1n, ADA))).toMatchObject({
			code: 'YAOKI_IDEMPOTENCY_RESULT_NOT_JSON',
		})
	})
})

describe('a store that fails', () => {
	const down = () => ({ claim: () => Promise.reject(new Error('the database is down')) })

	test('rejects the call with its error, and the function does not run', async () => {
		const { engine } = setup({}, down)
		const fn = vi.fn()
		await expect(engine.run('k1', 1, fn, ADA)).rejects.toThrow('the database is down')
		expect(fn).not.toHaveBeenCalled()
	})

	test("runs the function without protection, with onStoreError: 'pass'", async () => {
		const { engine } = setup({ onStoreError: 'pass' }, down)
		const run = () =>
			engine.run(
				'k1',
				1,
				async ({ isProtected, step, signal }) => [isProtected, await step('a', () => 1), signal],
				ADA,
			)
		expect(await run()).toEqual([false, 1, null])
	})

	test('gets the result later if it fails when the function has ended', async () => {
		let isDown = true
		const { engine, runtime, events } = setup({}, (base) => ({
			complete: async (...args) => {
				if (isDown) throw new Error('the database is down')
				return base.complete(...args)
			},
		}))
		const run = engine.run('k1', 1, () => 'charged', ADA)
		await runtime.advance(1_000)
		isDown = false
		await runtime.advance(1_000)
		expect(await run).toBe('charged')
		expect(await engine.run('k1', 1, never, ADA)).toBe('charged')
		expect(events).toContainEqual(expect.objectContaining({ type: 'idempotency_stored_late', method: 'run' }))
	})
})

describe('on SQLite', () => {
	const opened = async () => {
		const sqlite = await openSqlite()
		const engine = idempotency({ name: 'shop', store: sqlite.store, principal: () => 'ada' })
		onTestFinished(() => engine.close())
		return { ...sqlite, engine }
	}

	test('concurrent calls run the function once, and later calls get its result', async () => {
		const { engine } = await opened()
		const fn = vi.fn(async () => ({ id: 'c1' }))
		const results = await Promise.all(Array.from({ length: 8 }, () => engine.run('k1', [1], fn, ADA)))
		expect(new Set(results.map((result) => result.id))).toEqual(new Set(['c1']))
		expect(await engine.run('k1', [1], never, ADA)).toEqual({ id: 'c1' })
		expect(fn).toHaveBeenCalledTimes(1)
	})

	test('a transaction whose result JSON cannot hold is rolled back, and the next call runs', async () => {
		const { engine, userTable } = await opened()
		const run = (result: unknown) =>
			engine.run(
				'k1',
				1,
				({ transaction }) =>
					transaction(async (tx) => {
						await userTable.insert(tx)
						return result
					}),
				ADA,
			)
		expect(await failureOf(run(1n))).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_RESULT_NOT_JSON' })
		expect(await userTable.count()).toBe(0)
		expect(await run(1)).toBe(1)
		expect(await userTable.count()).toBe(1)
	})

	test('a transaction commits the writes and the result together', async () => {
		const { engine, userTable } = await opened()
		const run = (isBroken: boolean) =>
			engine.run(
				'k1',
				1,
				({ transaction }) =>
					transaction(async (tx) => {
						await userTable.insert(tx)
						if (isBroken) throw new Error('broken')
						return { at: new Date(0) }
					}),
				ADA,
			)
		await expect(run(true)).rejects.toThrow('broken')
		expect(await userTable.count()).toBe(0)
		expect(await run(false)).toEqual({ at: '1970-01-01T00:00:00.000Z' })
		expect(await run(false)).toEqual({ at: '1970-01-01T00:00:00.000Z' })
		expect(await userTable.count()).toBe(1)
	})
})
