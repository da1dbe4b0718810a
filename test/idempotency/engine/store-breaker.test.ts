/** 5 failures opened the circuit of the store for 30 s, and waiting for the user's own pool counted: a burst on a healthy database became an outage. */
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { fetchIdempotency } from '../../../src/idempotency/adapters/fetch.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'

/** A store whose claims fail, hang, or wait for a connection of the pool. */
function setting(options: Partial<IdempotencyOptions> = {}) {
	const runtime = virtualRuntime()
	const memory = memoryIdempotencyStore({ runtime }) as IdempotencyStore
	const state = { mode: 'up' as 'up' | 'down' | 'hanging' | 'waiting' }
	const claim: IdempotencyStore['claim'] = (request, call) => {
		if (state.mode === 'up') return memory.claim(request)
		if (state.mode === 'down') return Promise.reject(new Error('the database is down'))
		if (call && state.mode === 'waiting') call.isWaiting = true
		return new Promise(() => {})
	}
	const store = new Proxy(memory, {
		get(target, name) {
			if (name === 'claim') return claim
			const member = Reflect.get(target, name)
			return typeof member === 'function' ? member.bind(target) : member
		},
	})
	const engine = idempotency({ store, runtime, principal: () => 'ada', purgeEveryMs: 0, ...options })
	const handle = fetchIdempotency(engine, () => new Response('created', { status: 201 }))
	let keys = 0
	const post = async () => {
		const headers = { 'idempotency-key': `k${++keys}` }
		const response = await handle(new Request('http://shop.test/', { method: 'POST', headers }))
		return { status: response.status, retryAfter: response.headers.get('retry-after') }
	}
	/** Sends requests until each has its response. */
	const burst = async (count: number) => {
		const sent = Promise.all(Array.from({ length: count }, post))
		await new Promise((resolve) => setImmediate(resolve))
		await runtime.advance(2_000)
		return sent
	}
	return { runtime, engine, state, burst }
}

describe('the circuit breaker of the store', () => {
	test('does not count waiting for a connection of the pool, which is limited and answered with 503', async () => {
		const { engine, state, burst } = setting()
		state.mode = 'waiting'
		const responses = await burst(70)
		expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]))
		expect(engine.stats.storeCircuit).toBe('closed')
		state.mode = 'up'
		expect((await burst(70)).map(({ status }) => status)).toEqual(Array(70).fill(201))
	})

	test.each(['down', 'hanging'] as const)('opens if the database is %s, for about a second', async (mode) => {
		const { runtime, engine, state, burst } = setting()
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

	test('sends Retry-After of at most 2 s, jittered', async () => {
		const { state, burst } = setting()
		state.mode = 'down'
		const times = (await burst(100)).map(({ retryAfter }) => retryAfter)
		expect(new Set(times)).toEqual(new Set(['1', '2']))
	})

	test('is an option, which false switches off', async () => {
		const off = setting({ storeBreaker: false })
		off.state.mode = 'down'
		await off.burst(100)
		expect(off.engine.stats.storeCircuit).toBe('closed')
		const patient = setting({ storeBreaker: { failureThreshold: 50 } })
		patient.state.mode = 'down'
		await patient.burst(49)
		expect(patient.engine.stats.storeCircuit).toBe('closed')
		await patient.burst(1)
		expect(patient.engine.stats.storeCircuit).toBe('open')
	})

	test.each([
		[{ storeBreaker: { failureTreshold: 5 } as object }, 'storeBreaker'],
		[{ storeBreaker: { failureThreshold: 0 } }, 'storeBreaker.failureThreshold'],
		[{ storeBreaker: true as unknown as false }, 'storeBreaker'],
	])('is validated: %j', (options, path) => {
		expect(() => setting(options)).toThrow(path)
	})
})
