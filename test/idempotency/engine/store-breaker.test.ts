/** 5 failures opened the circuit of the store for 30 s, and waiting for the user's own pool counted: a burst on a healthy database became an outage. */
import { describe, expect, test, vi } from 'vitest'
import type { Runtime } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { fetchIdempotency } from '../../../src/idempotency/adapters/fetch.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'

/**
 * A store whose claims fail, hang, or wait for a connection of the pool. With `late` they get it just before the limit, and the statement takes a
 * moment; with `late and hanging` the statement hangs. With `stalled` the process does not run for 3 s while the store replies.
 */
function setup(options: Partial<IdempotencyOptions> = {}) {
	const runtime = virtualRuntime()
	let stalledMs = 0
	const stallingRuntime: Runtime = {
		now: () => runtime.now() + stalledMs,
		wallNow: () => runtime.wallNow(),
		setTimer: (...args) => runtime.setTimer(...args),
		random: () => runtime.random(),
	}
	const memory = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const state = {
		mode: 'up' as 'up' | 'down' | 'hanging' | 'waiting' | 'late' | 'late and hanging' | 'stalled',
	}
	const claim: IdempotencyStore['claim'] = (request, call) => {
		if (state.mode === 'up') return memory.claim(request)
		if (state.mode === 'down') return Promise.reject(new Error('the database is down'))
		if (state.mode === 'stalled') {
			runtime.setTimer(1, () => {
				stalledMs = 3_000
			})
			return new Promise((resolve) => runtime.setTimer(2_001, () => resolve(memory.claim(request))))
		}
		if (call && state.mode !== 'hanging') call.isWaiting = true
		return new Promise((resolve) => {
			if (!call || !state.mode.startsWith('late')) return
			runtime.setTimer(1_999, () => {
				call.isWaiting = false
				if (state.mode === 'late') runtime.setTimer(10, () => resolve(memory.claim(request)))
			})
		})
	}
	const store = new Proxy(memory, {
		get(target, name) {
			if (name === 'claim') return claim
			const member = Reflect.get(target, name)
			return typeof member === 'function' ? member.bind(target) : member
		},
	})
	const engine = idempotency({
		store,
		runtime: stallingRuntime,
		principal: () => 'ada',
		purgeEveryMs: 0,
		...options,
	})
	const handle = fetchIdempotency(engine, () => new Response('created', { status: 201 }))
	let keys = 0
	const post = async () => {
		const headers = { 'idempotency-key': `k${++keys}` }
		const response = await handle(new Request('http://shop.test/', { method: 'POST', headers }))
		return { status: response.status, retryAfter: response.headers.get('retry-after') }
	}
	/** Sends requests until each has its response. */
	const burst = async (count: number, ms = 2_000) => {
		const sent = Promise.all(Array.from({ length: count }, post))
		await new Promise((resolve) => setImmediate(resolve))
		await runtime.advance(ms)
		return sent
	}
	return { runtime, engine, state, burst }
}

describe('the circuit breaker of the store', () => {
	test('does not count waiting for a connection of the pool, which is limited and answered with 503', async () => {
		const { engine, state, burst } = setup()
		state.mode = 'waiting'
		const responses = await burst(70)
		expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]))
		expect(engine.stats.storeCircuit).toBe('closed')
		state.mode = 'up'
		expect((await burst(70)).map(({ status }) => status)).toEqual(Array(70).fill(201))
	})

	test('measures a statement from when it has its connection: a burst of 70 on a pool of 10 opened the circuit', async () => {
		const { engine, state, burst } = setup()
		state.mode = 'late'
		expect((await burst(70, 2_009)).map(({ status }) => status)).toEqual(Array(70).fill(201))
		expect(engine.stats.storeCircuit).toBe('closed')
	})

	test('counts a statement that hangs after it has waited for its connection', async () => {
		const { engine, state, burst } = setup()
		state.mode = 'late and hanging'
		await burst(5, 3_999)
		expect(engine.stats.storeCircuit).toBe('open')
	})

	test('does not count a stall of this process, after which timers run before the replies of the store are read', async () => {
		const { engine, state, burst } = setup()
		state.mode = 'stalled'
		expect((await burst(10, 2_001)).map(({ status }) => status)).toEqual(Array(10).fill(201))
		expect(engine.stats.storeCircuit).toBe('closed')
	})

	test.each(['down', 'hanging'] as const)('opens if the database is %s, for about a second', async (mode) => {
		const { runtime, engine, state, burst } = setup()
		state.mode = mode
		await burst(10)
		expect(engine.stats.storeCircuit).toBe('open')
		state.mode = 'up'
		await runtime.advance(1_000)
		const [first] = await burst(1)
		const [second] = await burst(1)
		expect([first?.status, second?.status]).toEqual([201, 201])
		expect(engine.stats.storeCircuit).toBe('closed')
	})

	test('lets the next request through when a write of a running request succeeds: the store is back', async () => {
		const { engine, state, burst } = setup()
		let finish: (() => void) | undefined
		const running = engine.run('k', {}, () => new Promise<void>((resolve) => (finish = resolve)), {
			principal: 'ada',
		})
		await vi.waitFor(() => expect(finish).toBeDefined())
		state.mode = 'down'
		await burst(10, 0)
		expect(engine.stats.storeCircuit).toBe('open')
		state.mode = 'up'
		expect((await burst(1, 0)).map(({ status }) => status)).toEqual([503])
		finish?.()
		await running
		expect((await burst(2, 0)).map(({ status }) => status)).toEqual([201, 201])
		expect(engine.stats.storeCircuit).toBe('closed')
	})

	test('sends Retry-After of at most 2 s, jittered', async () => {
		const { state, burst } = setup()
		state.mode = 'down'
		const times = (await burst(100)).map(({ retryAfter }) => retryAfter)
		expect(new Set(times)).toEqual(new Set(['1', '2']))
	})

	test('is an option, which false switches off', async () => {
		const off = setup({ storeCircuitBreaker: false })
		off.state.mode = 'down'
		await off.burst(100)
		expect(off.engine.stats.storeCircuit).toBe('closed')
		const patient = setup({ storeCircuitBreaker: { failureThreshold: 50 } })
		patient.state.mode = 'down'
		await patient.burst(49)
		expect(patient.engine.stats.storeCircuit).toBe('closed')
		await patient.burst(1)
		expect(patient.engine.stats.storeCircuit).toBe('open')
	})

	test.each([
		[{ storeCircuitBreaker: { failureTreshold: 5 } as object }, 'storeCircuitBreaker'],
		[{ storeCircuitBreaker: { failureThreshold: 0 } }, 'storeCircuitBreaker.failureThreshold'],
		[{ storeCircuitBreaker: true as unknown as false }, 'storeCircuitBreaker'],
	])('is validated: %j', (options, path) => {
		expect(() => setup(options)).toThrow(path)
	})
})
