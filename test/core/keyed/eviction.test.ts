import { describe, expect, test } from 'vitest'
import { bulkhead, type CallOptions, circuitBreaker, hedge, keyed, pipeline, retry, timeout } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { steady, taking } from '../../support/scenario.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'
const one = { maxConcurrent: 1, maxQueue: 0 } as const

const perTenant = (runtime: VirtualRuntime, maxKeys: number, idleMs = Infinity) =>
	keyed(keyOf, () => bulkhead(one), { runtime, maxKeys, idleMs })

describe('past maxKeys', () => {
	test('the key that was idle for longest is evicted', async () => {
		const policy = perTenant(virtualRuntime(), 2)
		for (const key of ['a', 'b', 'a', 'c']) await policy.execute(() => 1, { key })
		expect([...policy.keys()]).toEqual(['a', 'c'])
	})

	test('get does not count as a use', async () => {
		const policy = perTenant(virtualRuntime(), 2)
		for (const key of ['a', 'b']) await policy.execute(() => 1, { key })
		policy.get('a')
		await policy.execute(() => 1, { key: 'c' })
		expect([...policy.keys()]).toEqual(['b', 'c'])
	})

	test('a key in use stays, however many follow', async () => {
		const clock = virtualRuntime()
		const policy = perTenant(clock, 2)
		const long = policy.execute(taking(clock, 100), { key: 'long' })
		for (let i = 0; i < 10; i++) await policy.execute(() => 1, { key: `k${i}` })
		expect([...policy.keys()]).toEqual(['long', 'k9'])
		await clock.advance(100)
		await long
		expect(policy.size).toBe(2)
	})

	test('more are kept while all are in use, and then no more', async () => {
		const clock = virtualRuntime()
		const policy = perTenant(clock, 3)
		const crowd = Array.from({ length: 20 }, (_, i) => policy.execute(taking(clock, 100), { key: `k${i}` }))
		expect(policy.size).toBe(20)
		await clock.advance(100)
		await Promise.all(crowd)
		expect(policy.size).toBe(3)
	})

	test('1,000 keys are kept by default', async () => {
		const policy = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime() })
		for (let i = 0; i < 1_100; i++) await policy.execute(() => 1, { key: `k${i}` })
		expect(policy.size).toBe(1_000)
		expect([...policy.keys()][0]).toBe('k100')
	})
})

describe('a key that is not used', () => {
	test('is evicted after idleMs, ten minutes by default', async () => {
		const clock = virtualRuntime()
		const policy = keyed(keyOf, () => circuitBreaker(), { runtime: clock })
		await policy.execute(() => 1, { key: 'a' })
		const first = policy.get('a')
		await clock.advance(599_999)
		await policy.execute(() => 1, { key: 'a' })
		expect(policy.get('a')).toBe(first)
		await clock.advance(600_000)
		await policy.execute(() => 1, { key: 'b' })
		expect([...policy.keys()]).toEqual(['b'])
	})

	test('is idle from the end of its last call, not from its start', async () => {
		const clock = virtualRuntime()
		const policy = perTenant(clock, 10, 1_000)
		const long = policy.execute(taking(clock, 5_000), { key: 'a' })
		await clock.advance(5_000)
		await long
		await clock.advance(999)
		await policy.execute(() => 1, { key: 'b' })
		expect(policy.size).toBe(2)
		await clock.advance(1)
		await policy.execute(() => 1, { key: 'b' })
		expect([...policy.keys()]).toEqual(['b'])
	})

	test('owns no timer', async () => {
		const clock = virtualRuntime()
		await perTenant(clock, 10, 1_000).execute(() => 1)
		expect(clock.pendingTimers).toBe(0)
	})
})

describe('update', () => {
	test('an update to fewer keys immediately evicts the keys that were idle for longest', async () => {
		const policy = perTenant(virtualRuntime(), 10)
		for (const key of ['a', 'b', 'c']) await policy.execute(() => 1, { key })
		const kept = policy.get('c')
		policy.update({ maxKeys: 1 })
		expect([...policy.keys()]).toEqual(['c'])
		expect(policy.get('c')).toBe(kept)
	})

	test('an update of the idle time applies from the next call, and keeps the rest', async () => {
		const clock = virtualRuntime()
		const policy = perTenant(clock, 2)
		await policy.execute(() => 1, { key: 'a' })
		await clock.advance(500)
		policy.update({ idleMs: 500 })
		for (const key of ['b', 'c', 'd']) await policy.execute(() => 1, { key })
		expect([...policy.keys()]).toEqual(['c', 'd'])
	})

	test('regression: used the system clock if the pipeline had another, and evicted every key', async () => {
		const clock = virtualRuntime()
		const policy = keyed(keyOf, () => bulkhead(one), { idleMs: 1 })
		await pipeline({ runtime: clock }, policy).execute(() => 1, { key: 'a' })
		policy.update({ maxKeys: 5 })
		expect([...policy.keys()]).toEqual(['a'])
	})

	test('an update with invalid options throws and changes nothing', async () => {
		const policy = perTenant(virtualRuntime(), 2)
		expect(() => policy.update({ maxKeys: 0.5 })).toThrow('maxKeys')
		for (const key of ['a', 'b', 'c']) await policy.execute(() => 1, { key })
		expect(policy.size).toBe(2)
	})
})

describe('an operation that outlives its call', () => {
	const bulkheadFull = { ok: false, error: { code: 'YAOKI_BULKHEAD_REJECTED' } }

	const orders = {
		'a timeout around the registry': (runtime: VirtualRuntime) => {
			const tenants = perTenant(runtime, 1)
			return { tenants, policy: pipeline({ runtime }, timeout(50), tenants) }
		},
		'a timeout inside of it': (runtime: VirtualRuntime) => {
			const tenants = perTenant(runtime, 1)
			return { tenants, policy: pipeline({ runtime }, tenants, timeout(50)) }
		},
		'a timeout of the key itself': (runtime: VirtualRuntime) => {
			const tenants = keyed(keyOf, () => pipeline(bulkhead(one), timeout(50)), { maxKeys: 1 })
			return { tenants, policy: pipeline({ runtime }, tenants) }
		},
	}

	test.each(Object.entries(orders))(
		'under %s keeps its key: otherwise a new bulkhead would admit one call too many',
		async (_, make) => {
			const clock = virtualRuntime()
			const { tenants, policy } = make(clock)
			const late = policy.settle(taking(clock, 1_000), { key: 'a' })
			await clock.advance(50)
			expect(await late).toMatchObject({ error: { name: 'TimeoutError' } })
			await policy.execute(() => 1, { key: 'b' })
			expect(await policy.settle(() => 1, { key: 'a' })).toMatchObject(bulkheadFull)
			await clock.advance(950)
			expect(await policy.settle(() => 1, { key: 'a' })).toEqual({ ok: true, value: 1 })
			await policy.execute(() => 1, { key: 'c' })
			expect([...tenants.keys()]).toEqual(['c'])
		},
	)

	test('is waited for once per attempt, and the key is idle when the last has ended', async () => {
		const clock = virtualRuntime()
		const tenants = keyed(keyOf, () => bulkhead({ maxConcurrent: 3 }), { maxKeys: 1 })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 2 }), tenants, timeout(50))
		const works = [300, 1_000, 600].map((ms) => taking(clock, ms))
		const answer = policy.settle(() => works.shift()?.(), { key: 'a' })
		await clock.advance(500)
		expect((await answer).ok).toBe(false)
		const kept = tenants.get('a')
		for (const [ms, concurrent] of [
			[400, 2],
			[200, 1],
		] as const) {
			await clock.advance(ms)
			await policy.execute(() => 1, { key: 'b' })
			expect([tenants.get('a'), kept?.stats.concurrent]).toEqual([kept, concurrent])
		}
		await clock.advance(1_000)
		await policy.execute(() => 1, { key: 'b' })
		expect([...tenants.keys()]).toEqual(['b'])
		expect(kept?.stats.concurrent).toBe(0)
	})

	test('the loser of a hedge keeps its key', async () => {
		const clock = virtualRuntime()
		const tenants = keyed(keyOf, () => pipeline(bulkhead(one), hedge({ delayMs: 10 })), { maxKeys: 1 })
		const policy = pipeline({ runtime: clock }, tenants)
		const works = [taking(clock, 1_000), taking(clock, 5)]
		const answer = policy.settle(() => works.shift()?.(), { key: 'a' })
		await clock.advance(15)
		expect(await answer).toEqual({ ok: true, value: 'ok' })
		await policy.execute(() => 1, { key: 'b' })
		expect(await policy.settle(() => 1, { key: 'a' })).toMatchObject(bulkheadFull)
		await clock.advance(1_000)
		expect(await policy.settle(() => 1, { key: 'a' })).toEqual({ ok: true, value: 1 })
	})

	test('does not bring a deleted key back', async () => {
		const clock = virtualRuntime()
		const tenants = perTenant(clock, 5)
		const policy = pipeline({ runtime: clock }, tenants, timeout(50))
		const late = policy.settle(taking(clock, 100), { key: 'a' })
		tenants.delete('a')
		await clock.advance(100)
		await late
		expect(tenants.size).toBe(0)
		expect(await policy.execute(() => 1, { key: 'a' })).toBe(1)
		expect(tenants.get('a')?.stats.concurrent).toBe(0)
	})
})

test('calls that fail, are rejected, aborted or timed out all release their key', async () => {
	const clock = virtualRuntime()
	const tenants = perTenant(clock, 1)
	const policy = pipeline({ runtime: clock }, tenants, timeout(50))
	const controller = new AbortController()
	const obedient = ({ signal }: { signal: AbortSignal }) =>
		new Promise((_, reject) => {
			signal.addEventListener('abort', () => reject(signal.reason))
		})
	const answers = [
		policy.settle(() => Promise.reject(new Error('down')), { key: 'failed' }),
		policy.settle(obedient, { key: 'busy' }),
		policy.settle(() => 1, { key: 'busy' }),
		policy.settle(obedient, { key: 'aborted', signal: controller.signal }),
		policy.settle(() => 1, { key: 'aborted before', signal: AbortSignal.abort() }),
	]
	controller.abort()
	await clock.advance(50)
	expect((await Promise.all(answers)).map(({ ok }) => ok)).toEqual(answers.map(() => false))
	await policy.execute(() => 1, { key: 'last' })
	expect([...tenants.keys()]).toEqual(['last'])
})
