import { describe, expect, it } from 'vitest'
import type { CircuitSnapshot } from '../../../src/core/circuit-breaker/snapshot.ts'
import { InvalidArgumentError } from '../../../src/core/errors/errors.ts'
import { setup } from './circuit-setup.ts'

const one = { failureThreshold: 1, resetTimeoutMs: 1_000 }
const DAY = 86_400_000

describe('a snapshot', () => {
	it('is plain JSON', () => {
		const breaker = setup({ failureThreshold: 3 }).calls('sf').pass(70).calls('f').pass(30)
		expect(breaker.snapshot()).toEqual({
			version: 1,
			at: 1_750_000_000_000,
			state: 'closed',
			openForMs: 0,
			failedProbes: 0,
			delayMs: 0,
			failureAgesMs: [100, 30],
			outcomes: [1, 2, 0, 0],
		})
		expect(setup({ windowSize: 10, slowCallMs: 1_000 }).calls('sfSF').snapshot().outcomes).toBe('0123')
	})
	it('a snapshot of an open circuit contains the rest of the open time', () => {
		expect(setup(one).fail().pass(300).snapshot()).toMatchObject({
			state: 'open',
			openForMs: 700,
			failedProbes: 0,
			delayMs: 1_000,
		})
	})
	it('the snapshot of an isolated circuit has the state that its release restores', () => {
		const open = setup(one).calls('sf')
		open.isolate()
		expect(open.pass(300).snapshot()).toEqual(setup(one).calls('sf').pass(300).snapshot())
		const closed = setup().calls('sf')
		closed.isolate()
		expect(closed.snapshot()).toEqual(setup().calls('sf').snapshot())
		const half = setup(one).fail().pass(1_000).succeed()
		half.isolate()
		expect(half.snapshot()).toMatchObject({ state: 'half-open', openForMs: 0 })
	})
	it('notices a hung probe', () => {
		const breaker = setup({ ...one, probeTimeoutMs: 1_000 })
			.fail()
			.pass(1_000)
		breaker.admit()
		expect(breaker.pass(1_400).snapshot()).toMatchObject({ state: 'open', openForMs: 600, failedProbes: 1 })
	})
})

describe('a restored circuit', () => {
	it('continues the consecutive failures, aged by the wall clock', () => {
		const options = { failureThreshold: 3, monitorWindowMs: 1_000 }
		const snapshot = setup(options).calls('f').pass(400).calls('f').snapshot()
		expect(setup(options).restore(snapshot, 600).calls('f').circuit.state).toBe('open')
		expect(setup(options).restore(snapshot, 601).calls('f').circuit.state).toBe('closed')
	})
	it('continues the counts, aged by the wall clock', () => {
		const snapshot = setup({ monitorWindowMs: 1_000 }).calls('sf').snapshot()
		const restored = setup({ monitorWindowMs: 1_000 }).restore(snapshot, 900)
		expect(restored.stats).toMatchObject({ failureCount: 1, successCount: 1 })
		expect(restored.pass(100).stats).toMatchObject({ failureCount: 0, successCount: 0 })
	})
	it('continues the order of calls in a count window', () => {
		const options = { windowSize: 4, minimumRequests: 4, failureThreshold: 99 }
		const snapshot = setup(options).calls('ssssfsff').snapshot()
		expect(snapshot.outcomes).toBe('1011')
		expect(setup(options).restore(snapshot, DAY).calls('s').stats).toMatchObject({ failureCount: 2 })
		expect(setup(options).restore(snapshot, DAY).calls('ss').stats).toMatchObject({ failureCount: 2 })
	})
	it('is open for the rest of the time', () => {
		const snapshot = setup(one).fail().pass(300).snapshot()
		const restored = setup(one).restore(snapshot, 500)
		expect(restored.stats).toMatchObject({ state: 'open', retryAfterMs: 200 })
		expect(restored.changes).toEqual(['closed -> open'])
		expect(restored.pass(200).admit()).toBeGreaterThan(0)
	})
	it('a restored circuit that was half-open is open without a wait', () => {
		const half = setup(one).fail().pass(1_000)
		half.admit()
		const restored = setup(one).restore(half.snapshot())
		expect(restored.stats).toMatchObject({ state: 'open', retryAfterMs: 0 })
		expect(restored.admit()).toBeGreaterThan(0)
	})
	it('continues the growth of the open time', () => {
		const options = {
			...one,
			resetTimeoutMs: 9_000,
			resetBackoff: { factor: 2, jitterStrategy: 'none' },
		} as const
		const snapshot = setup(options).fail().pass(1_000).fail().snapshot()
		expect(setup(options).restore(snapshot, 2_000).fail().stats.retryAfterMs).toBe(4_000)
	})
	it('is not affected by a wall clock that jumped back', () => {
		const snapshot = setup(one).fail().pass(300).snapshot()
		expect(setup(one).restore(snapshot, -DAY).stats.retryAfterMs).toBe(700)
		const closed = setup({ failureThreshold: 2 }).calls('f').snapshot()
		expect(setup({ failureThreshold: 2 }).restore(closed, -DAY).calls('f').circuit.state).toBe('open')
	})
	it('keeps nothing after a wall clock that jumped far ahead', () => {
		const snapshot = setup({ failureThreshold: 2 }).calls('ff').snapshot()
		expect(setup().restore(snapshot, 1e6 * DAY).stats).toMatchObject({
			state: 'open',
			retryAfterMs: 0,
			failureCount: 0,
			consecutiveFailures: 0,
		})
	})
	it('is never open for longer than its own settings allow', () => {
		const snapshot = { ...setup(one).fail().snapshot(), openForMs: 1e15 }
		const left = (options: object) => setup({ ...one, ...options }).restore(snapshot).stats.retryAfterMs
		expect(left({})).toBe(60_000)
		expect(left({ maxRetryAfterMs: 0 })).toBe(1_000)
		expect(left({ resetTimeoutMs: 70_000, resetBackoff: { factor: 2 } })).toBe(70_000)
		expect(left({ resetTimeoutMs: 70_000, resetBackoff: {} })).toBe(70_000)
	})
	it('replaces the previous state, and ignores the results of calls in flight', () => {
		const breaker = setup({ failureThreshold: 2 }).calls('f')
		const call = breaker.admit()
		breaker.restore(setup().snapshot()).fail(call)
		expect(breaker.stats).toMatchObject({ failureCount: 0, consecutiveFailures: 0 })
	})
	it('a restored circuit that is isolated stays isolated, and has the restored state when released', () => {
		const breaker = setup({ failureThreshold: 2 })
		const release = breaker.isolate()
		breaker.restore(setup({ failureThreshold: 2 }).calls('f').snapshot())
		expect(breaker.stats).toMatchObject({ state: 'isolated', retryAfterMs: Infinity })
		breaker.restore(setup(one).fail().snapshot())
		release()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000, failureCount: 1 })
		expect(breaker.changes).toEqual(['closed -> isolated', 'isolated -> open'])
	})
	it('uses what fits from a snapshot of other settings', () => {
		const many = setup({ failureThreshold: 9 }).calls('fffff').snapshot()
		expect(setup({ failureThreshold: 2 }).restore(many).stats.consecutiveFailures).toBe(2)
		const off = { failureThreshold: Infinity, errorRateThreshold: 1 }
		expect(setup(off).restore(many).stats).toMatchObject({ consecutiveFailures: 0, failureCount: 5 })
		expect(setup({ windowSize: 10 }).restore(many).stats.failureCount).toBe(0)
		const counted = setup({ windowSize: 10, slowCallMs: 1_000 }).calls('SFsf').snapshot()
		expect(setup().restore(counted).stats.failureCount).toBe(0)
		expect(setup({ windowSize: 10 }).restore(counted).stats).toMatchObject({
			failureCount: 2,
			slowCallCount: 0,
		})
	})
	it('sorts failures that are out of order', () => {
		const options = { failureThreshold: 3, monitorWindowMs: 1_000 }
		const snapshot = { ...setup(options).snapshot(), failureAgesMs: [10, 900] }
		const breaker = setup(options).restore(snapshot).pass(200).calls('f')
		expect(breaker.stats).toMatchObject({ state: 'closed', consecutiveFailures: 2 })
	})
})

describe('an invalid snapshot is rejected and changes nothing', () => {
	const bad: [string, object][] = [
		['version', { version: 2 }],
		['version', { version: undefined }],
		['at', { at: Number.NaN }],
		['at', { at: '2026-01-01' }],
		['at', { at: undefined }],
		['state', { state: 'ajar' }],
		['state', { state: 'isolated' }],
		['state', { state: undefined }],
		['state', { state: ['open'] }],
		['openForMs', { openForMs: Number.NaN }],
		['openForMs', { openForMs: -1 }],
		['openForMs', { openForMs: null }],
		['openForMs', { openForMs: Infinity }],
		['failedProbes', { failedProbes: 1.5 }],
		['failedProbes', { failedProbes: '1' }],
		['delayMs', { delayMs: -1 }],
		['delayMs', { delayMs: undefined }],
		['failureAgesMs', { failureAgesMs: undefined }],
		['failureAgesMs', { failureAgesMs: 'none' }],
		['failureAgesMs', { failureAgesMs: [1, null] }],
		['failureAgesMs', { failureAgesMs: [1, -1] }],
		['outcomes', { outcomes: undefined }],
		['outcomes', { outcomes: '0124' }],
		['outcomes', { outcomes: [1, 2, 3] }],
		['outcomes', { outcomes: [1, 2, 3, Number.NaN] }],
		['outcomes', { outcomes: [1, 2, 3, 0.5] }],
		['outcomes', { outcomes: { length: 4 } }],
	]
	it.each(bad)('%s: %o', (field, change) => {
		const breaker = setup({ failureThreshold: 2 }).calls('f')
		const before = breaker.stats
		const snapshot = { ...setup().snapshot(), ...change } as CircuitSnapshot
		try {
			breaker.restore(snapshot)
			expect.unreachable()
		} catch (error) {
			if (!(error instanceof InvalidArgumentError)) throw error
			expect(error.argument).toBe(`snapshot.${field}`)
			expect(error.message).toMatch(/: expected .*, got /)
		}
		expect(breaker.stats).toEqual(before)
	})
	it.each([undefined, null, 'closed', 7])('%s', (snapshot) => {
		const restore = () => setup().restore(snapshot as unknown as CircuitSnapshot)
		expect(restore).toThrow(/^Invalid argument "snapshot": expected an object, got .+$/)
	})
})
