import { describe, expect, it } from 'vitest'
import { setup } from './circuit-setup.ts'

const one = { failureThreshold: 1, resetTimeoutMs: 1_000 }

describe('isolate', () => {
	it('rejects all calls until it is released, whatever time passes', () => {
		const breaker = setup(one)
		breaker.isolate()
		expect(breaker.pass(1e12).admit()).toBe(-1)
		expect(breaker.stats).toMatchObject({ state: 'isolated', retryAfterMs: Infinity, rejectedCount: 1 })
		expect(breaker.changes).toEqual(['closed -> isolated'])
	})
	it('waits for every handle, and counts a handle once', () => {
		const breaker = setup()
		const [first, second] = [breaker.isolate(), breaker.isolate()]
		first()
		first()
		expect(breaker.circuit.state).toBe('isolated')
		second()
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.changes).toEqual(['closed -> isolated', 'isolated -> closed'])
	})
	it('an old handle does not release a later isolation', () => {
		const breaker = setup()
		const old = breaker.isolate()
		old()
		breaker.isolate()
		old()
		expect(breaker.circuit.state).toBe('isolated')
	})
	it('ignores the results of calls in flight', () => {
		const breaker = setup(one)
		const call = breaker.admit()
		const release = breaker.isolate()
		breaker.fail(call)
		release()
		expect(breaker.fail(call).stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
	it('takes effect before the hook is called, so that a hook cannot undo it', () => {
		const breaker = setup()
		const { circuit } = breaker
		circuit.listener = {
			onChange: (_, to) => {
				circuit.reset()
				if (to === 'isolated') breaker.isolate()()
			},
		}
		breaker.isolate()
		expect(circuit.state).toBe('isolated')
	})
	it('keeps the counts of the window visible', () => {
		const breaker = setup({ failureThreshold: 3 }).calls('sff')
		breaker.isolate()
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 1, consecutiveFailures: 2 })
	})
})

describe('the release of an isolation restores the state that it found', () => {
	it('restores a closed circuit with its window and its consecutive failures', () => {
		const breaker = setup({ failureThreshold: 3 }).calls('sff')
		const before = breaker.stats
		breaker.isolate()()
		expect(breaker.stats).toEqual(before)
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('restores a closed circuit without what left the window meanwhile', () => {
		const breaker = setup({ failureThreshold: 2, monitorWindowMs: 1_000 }).calls('f')
		const release = breaker.isolate()
		breaker.pass(1_001)
		release()
		expect(breaker.stats).toMatchObject({ failureCount: 0, consecutiveFailures: 0 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
	})
	it('closed, with successes that were counted without a time', () => {
		const breaker = setup({ monitorWindowMs: 1_000 })
		const { circuit } = breaker
		for (let i = 0; i < 100; i++) circuit.recordSuccessFast(breaker.admit(), undefined)
		const release = breaker.isolate()
		breaker.pass(899)
		release()
		expect(breaker.stats.successCount).toBe(100)
	})
	it('open, for the rest of its time', () => {
		const breaker = setup(one).fail().pass(300)
		const release = breaker.isolate()
		breaker.pass(200)
		release()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 500 })
		expect(breaker.admit()).toBe(-1)
		expect(breaker.pass(500).admit()).toBeGreaterThan(0)
		expect(breaker.changes).toEqual([
			'closed -> open',
			'open -> isolated',
			'isolated -> open',
			'open -> half-open',
		])
	})
	it('open without a wait, if its time ended meanwhile', () => {
		const breaker = setup(one).fail()
		const release = breaker.isolate()
		breaker.pass(5_000)
		release()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 0 })
	})
	it('open, with the growth of its open time and its rejected calls', () => {
		const breaker = setup({
			...one,
			resetTimeoutMs: 9_000,
			resetBackoff: { factor: 2, jitterStrategy: 'none' },
		})
			.fail()
			.pass(1_000)
			.fail()
		breaker.admit()
		const release = breaker.isolate()
		breaker.admit()
		release()
		expect(breaker.stats.rejectedCount).toBe(2)
		expect(breaker.pass(2_000).fail().stats.retryAfterMs).toBe(4_000)
	})
	it('half-open, with its successful probes and a free slot', () => {
		const breaker = setup({ ...one, successThreshold: 2 })
			.fail()
			.pass(1_000)
			.succeed()
		const probe = breaker.admit()
		const release = breaker.isolate()
		expect(breaker.succeed(probe).circuit.state).toBe('isolated')
		breaker.pass(60_000)
		release()
		expect(breaker.fail(probe).stats).toMatchObject({ state: 'half-open', successCount: 1, retryAfterMs: 0 })
		expect(breaker.succeed().circuit.state).toBe('closed')
		expect(breaker.changes.slice(2)).toEqual([
			'half-open -> isolated',
			'isolated -> half-open',
			'half-open -> closed',
		])
	})
	it('open, if the only probe had hung before', () => {
		const breaker = setup({ ...one, probeTimeoutMs: 1_000 })
			.fail()
			.pass(1_000)
		breaker.admit()
		breaker.pass(1_400).isolate()()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 600 })
	})
	it('closed with empty counts, if it was reset meanwhile', () => {
		const breaker = setup(one).fail()
		const release = breaker.isolate()
		breaker.circuit.reset()
		expect(breaker.stats).toMatchObject({ state: 'isolated', failureCount: 0 })
		release()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, rejectedCount: 0 })
	})
})

describe('the last failure', () => {
	const cause = (breaker: ReturnType<typeof setup>) => breaker.circuit.openState?.cause?.cause
	const [first, second] = [new Error('first'), new Error('second')]

	it('the last failure that opened the circuit is kept while it is not closed', () => {
		const breaker = setup({ ...one, successThreshold: 1 })
		breaker.fail(breaker.admit(), undefined, 0, first)
		expect(cause(breaker)).toBe(first)
		breaker.pass(1_000).fail(breaker.admit(), undefined, 0, second)
		expect(cause(breaker)).toBe(second)
		breaker.pass(1_000)
		const probe = breaker.admit()
		expect(cause(breaker)).toBe(second)
		expect(cause(breaker.succeed(probe))).toBeUndefined()
	})
	it('is not kept by a closed circuit', () => {
		const breaker = setup({ failureThreshold: 2 })
		breaker.fail(breaker.admit(), undefined, 0, first)
		expect(cause(breaker)).toBeUndefined()
	})
	it('stays if a hung probe or a result without an error opens the circuit again', () => {
		const breaker = setup({ ...one, probeTimeoutMs: 1_000 })
		breaker.fail(breaker.admit(), undefined, 0, first).pass(1_000).admit()
		expect(breaker.pass(1_000).stats.state).toBe('open')
		expect(cause(breaker)).toBe(first)
		expect(cause(breaker.pass(1_000).fail())).toBe(first)
	})
	it('is not the cause of an isolation, and is back after it', () => {
		const breaker = setup(one)
		breaker.fail(breaker.admit(), undefined, 0, first)
		const release = breaker.isolate()
		expect(cause(breaker)).toBeUndefined()
		release()
		expect(cause(breaker)).toBe(first)
	})
})

describe('successes of a circuit without failures', () => {
	it('leave the window in the order of their times', () => {
		const breaker = setup({ monitorWindowMs: 10_000 })
		const { circuit } = breaker
		const counts: number[] = []
		for (let i = 0; i < 5; i++) {
			circuit.recordSuccessFast(circuit.generation, breaker.now)
			breaker.pass(4_000)
		}
		for (let i = 0; i < 3; i++) {
			counts.push(breaker.stats.successCount)
			breaker.pass(4_000)
		}
		expect(counts).toEqual([2, 1, 0])
	})
})

describe('reset', () => {
	it('closes an open circuit and clears the counts', () => {
		const breaker = setup(one).fail()
		breaker.circuit.reset()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, consecutiveFailures: 0 })
		expect(breaker.changes).toEqual(['closed -> open', 'open -> closed'])
	})
	it('reset of a closed circuit clears the counts and emits nothing', () => {
		const breaker = setup({ failureThreshold: 2 }).calls('f')
		breaker.circuit.reset()
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.changes).toEqual([])
	})
	it('ignores the results of calls in flight', () => {
		const breaker = setup(one)
		const call = breaker.admit()
		breaker.circuit.reset()
		expect(breaker.fail(call).circuit.state).toBe('closed')
	})
	it('does not end an isolation', () => {
		const breaker = setup()
		const release = breaker.isolate()
		breaker.circuit.reset()
		expect(breaker.circuit.state).toBe('isolated')
		release()
		expect(breaker.circuit.state).toBe('closed')
	})
})

describe('in shadow mode a rejected call runs with the ticket of a rejection', () => {
	it('is ignored with its result in every state', () => {
		const breaker = setup({ ...one, successThreshold: 1, shadow: true }).fail()
		const rejected = breaker.admit()
		expect(rejected).toBe(-1)
		expect(breaker.succeed(rejected).fail(rejected).stats).toMatchObject({
			state: 'open',
			retryAfterMs: 1_000,
		})
		breaker.pass(1_000).admit()
		expect(breaker.succeed(rejected).fail(rejected).ignore(rejected).circuit.state).toBe('half-open')
		breaker.circuit.reset()
		expect(breaker.fail(rejected).circuit.state).toBe('closed')
	})
})

describe('update', () => {
	it('keeps the state, the consecutive failures and the counts', () => {
		const breaker = setup({ failureThreshold: 3 }).calls('sff').update({ failureThreshold: 4 })
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 1, consecutiveFailures: 2 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a lower threshold applies to the next failure', () => {
		const breaker = setup({ failureThreshold: 9 }).calls('fff').update({ failureThreshold: 2 })
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a changed resetTimeoutMs applies to the next open state', () => {
		const breaker = setup(one)
			.fail()
			.update({ ...one, resetTimeoutMs: 9_000 })
		expect(breaker.stats.retryAfterMs).toBe(1_000)
		expect(breaker.pass(1_000).fail().stats.retryAfterMs).toBe(9_000)
	})
	it('a smaller count window keeps the last calls, a larger one all', () => {
		const sized = (windowSize: number) => ({ windowSize, minimumRequests: 1, failureThreshold: 99 })
		const breaker = setup(sized(6)).calls('ffffsf')
		expect(breaker.update(sized(3)).stats).toMatchObject({ failureCount: 2, successCount: 1 })
		expect(breaker.update(sized(5)).calls('ss').stats).toMatchObject({ failureCount: 2, successCount: 3 })
		expect(breaker.calls('s').stats).toMatchObject({ failureCount: 1, successCount: 4 })
	})
	it('another monitorWindowMs keeps the counts as if they had just happened', () => {
		const breaker = setup({ monitorWindowMs: 1_000 })
			.calls('sf')
			.pass(500)
			.update({ monitorWindowMs: 10_000 })
		expect(breaker.pass(9_999).stats).toMatchObject({ failureCount: 1, successCount: 1 })
		expect(breaker.pass(1).stats).toMatchObject({ failureCount: 0, successCount: 0 })
	})
	it('the same window settings do not keep old counts alive', () => {
		const options = { monitorWindowMs: 1_000 }
		const breaker = setup(options).calls('s')
		for (let i = 0; i < 10; i++) breaker.pass(100).update({ ...options, slowCallMs: undefined })
		expect(breaker.stats.successCount).toBe(0)
	})
	it('update from a time window to a count window starts empty', () => {
		expect(setup().calls('sf').update({ windowSize: 10 }).stats).toMatchObject({
			failureCount: 0,
			successCount: 0,
		})
		expect(setup({ windowSize: 10 }).calls('sf').update({}).stats.successCount).toBe(0)
	})
	it('slow calls become ordinary ones when slowCallMs is removed', () => {
		const windows = [{}, { windowSize: 10 }]
		for (const window of windows) {
			const breaker = setup({ ...window, slowCallMs: 1_000, failureThreshold: 99 }).calls('SFsf')
			expect(breaker.update({ ...window, errorRateThreshold: 1 }).stats).toMatchObject({
				failureCount: 2,
				successCount: 2,
				slowCallCount: 0,
			})
		}
	})
	it('switching consecutive failures off clears them', () => {
		const breaker = setup({ failureThreshold: 3 }).calls('ff')
		breaker.update({ failureThreshold: Infinity, errorRateThreshold: 1 }).update({ failureThreshold: 3 })
		expect(breaker.calls('ff').circuit.state).toBe('closed')
	})
	it('a probe that hung under the old settings has failed', () => {
		const breaker = setup({ ...one, probeTimeoutMs: 1_000 })
			.fail()
			.pass(1_000)
		breaker.admit()
		breaker.pass(1_500).update({ ...one, probeTimeoutMs: 60_000 })
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 500 })
	})
	it('does not end an isolation', () => {
		const breaker = setup()
		breaker.isolate()
		expect(breaker.update(one).stats).toMatchObject({ state: 'isolated', retryAfterMs: Infinity })
	})
})
