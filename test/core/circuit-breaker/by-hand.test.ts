import { describe, expect, it } from 'vitest'
import { rig } from './rig.ts'

const one = { failureThreshold: 1, resetTimeoutMs: 1_000 }

describe('isolate', () => {
	it('keeps the circuit open until it is released', () => {
		const breaker = rig(one)
		breaker.circuit.isolate()
		expect(breaker.pass(1e12).admit()).toBe(-1)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: Infinity })
		expect(breaker.changes).toEqual(['closed -> open'])
	})
	it('closes the circuit with empty counts when the handle is released', () => {
		const breaker = rig({ failureThreshold: 2 }).calls('f')
		breaker.circuit.isolate()()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, rejectedCount: 0 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
	})
	it('waits for every handle, and counts a handle once', () => {
		const { circuit } = rig()
		const [first, second] = [circuit.isolate(), circuit.isolate()]
		first()
		first()
		expect(circuit.state).toBe('open')
		second()
		expect(circuit.state).toBe('closed')
	})
	it('an old handle does not release a later isolation', () => {
		const { circuit } = rig()
		const old = circuit.isolate()
		old()
		circuit.isolate()
		old()
		expect(circuit.state).toBe('open')
	})
	it('ignores the results of calls in flight', () => {
		const breaker = rig(one)
		const call = breaker.admit()
		const release = breaker.circuit.isolate()
		breaker.fail(call)
		release()
		expect(breaker.fail(call).stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
	it('ignores the results of probes in flight and does not wait for them', () => {
		const breaker = rig({ ...one, successThreshold: 1 })
			.fail()
			.pass(1_000)
		const probe = breaker.admit()
		breaker.circuit.isolate()
		expect(breaker.succeed(probe).circuit.state).toBe('open')
		expect(breaker.pass(60_000).stats.retryAfterMs).toBe(Infinity)
		expect(breaker.changes.at(-1)).toBe('half-open -> open')
	})
	it('of an open circuit emits nothing, and the release closes it', () => {
		const breaker = rig(one).fail()
		breaker.circuit.isolate()()
		expect(breaker.changes).toEqual(['closed -> open', 'open -> closed'])
	})
	it('takes effect before the hook is called, so that a hook cannot undo it', () => {
		const { circuit } = rig()
		circuit.onChange = () => circuit.reset()
		circuit.isolate()
		expect(circuit.state).toBe('open')
	})
})

describe('reset', () => {
	it('closes an open circuit and clears the counts', () => {
		const breaker = rig(one).fail()
		breaker.circuit.reset()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, consecutiveFailures: 0 })
		expect(breaker.changes).toEqual(['closed -> open', 'open -> closed'])
	})
	it('of a closed circuit clears the counts and emits nothing', () => {
		const breaker = rig({ failureThreshold: 2 }).calls('f')
		breaker.circuit.reset()
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.changes).toEqual([])
	})
	it('ignores the results of calls in flight', () => {
		const breaker = rig(one)
		const call = breaker.admit()
		breaker.circuit.reset()
		expect(breaker.fail(call).circuit.state).toBe('closed')
	})
	it('does not end an isolation', () => {
		const { circuit } = rig()
		const release = circuit.isolate()
		circuit.reset()
		expect(circuit.state).toBe('open')
		release()
		expect(circuit.state).toBe('closed')
	})
})

describe('in shadow mode a rejected call runs with the ticket of a rejection', () => {
	it('whose result is ignored in every state', () => {
		const breaker = rig({ ...one, successThreshold: 1, shadow: true }).fail()
		const refused = breaker.admit()
		expect(refused).toBe(-1)
		expect(breaker.succeed(refused).fail(refused).stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
		breaker.pass(1_000).admit()
		expect(breaker.succeed(refused).fail(refused).ignore(refused).circuit.state).toBe('half-open')
		breaker.circuit.reset()
		expect(breaker.fail(refused).circuit.state).toBe('closed')
	})
})

describe('update', () => {
	it('keeps the state, the consecutive failures and the counts', () => {
		const breaker = rig({ failureThreshold: 3 }).calls('sff').update({ failureThreshold: 4 })
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 1, consecutiveFailures: 2 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a lower threshold applies to the next failure', () => {
		const breaker = rig({ failureThreshold: 9 }).calls('fff').update({ failureThreshold: 2 })
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a changed resetTimeoutMs applies to the next open state', () => {
		const breaker = rig(one)
			.fail()
			.update({ ...one, resetTimeoutMs: 9_000 })
		expect(breaker.stats.retryAfterMs).toBe(1_000)
		expect(breaker.pass(1_000).fail().stats.retryAfterMs).toBe(9_000)
	})
	it('a smaller count window keeps the last calls, a larger one all', () => {
		const sized = (windowSize: number) => ({ windowSize, minimumRequests: 1, failureThreshold: 99 })
		const breaker = rig(sized(6)).calls('ffffsf')
		expect(breaker.update(sized(3)).stats).toMatchObject({ failureCount: 2, successCount: 1 })
		expect(breaker.update(sized(5)).calls('ss').stats).toMatchObject({ failureCount: 2, successCount: 3 })
		expect(breaker.calls('s').stats).toMatchObject({ failureCount: 1, successCount: 4 })
	})
	it('another monitorWindowMs keeps the counts as if they had just happened', () => {
		const breaker = rig({ monitorWindowMs: 1_000 }).calls('sf').pass(500).update({ monitorWindowMs: 10_000 })
		expect(breaker.pass(9_999).stats).toMatchObject({ failureCount: 1, successCount: 1 })
		expect(breaker.pass(1).stats).toMatchObject({ failureCount: 0, successCount: 0 })
	})
	it('the same window settings do not keep old counts alive', () => {
		const options = { monitorWindowMs: 1_000 }
		const breaker = rig(options).calls('s')
		for (let i = 0; i < 10; i++) breaker.pass(100).update({ ...options, slowCallMs: undefined })
		expect(breaker.stats.successCount).toBe(0)
	})
	it('from a time window to a count window starts empty', () => {
		expect(rig().calls('sf').update({ windowSize: 10 }).stats).toMatchObject({
			failureCount: 0,
			successCount: 0,
		})
		expect(rig({ windowSize: 10 }).calls('sf').update({}).stats.successCount).toBe(0)
	})
	it('slow calls become ordinary ones when slowCallMs is removed', () => {
		const windows = [{}, { windowSize: 10 }]
		for (const window of windows) {
			const breaker = rig({ ...window, slowCallMs: 1_000, failureThreshold: 99 }).calls('SFsf')
			expect(breaker.update({ ...window, errorRateThreshold: 1 }).stats).toMatchObject({
				failureCount: 2,
				successCount: 2,
				slowCallCount: 0,
			})
		}
	})
	it('switching consecutive failures off clears them', () => {
		const breaker = rig({ failureThreshold: 3 }).calls('ff')
		breaker.update({ failureThreshold: Infinity, errorRateThreshold: 1 }).update({ failureThreshold: 3 })
		expect(breaker.calls('ff').circuit.state).toBe('closed')
	})
	it('a probe that hung under the old settings has failed', () => {
		const breaker = rig(one).fail().pass(1_000)
		breaker.admit()
		breaker.pass(1_500).update({ ...one, probeTimeoutMs: 60_000 })
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 500 })
	})
	it('does not end an isolation', () => {
		const breaker = rig()
		breaker.circuit.isolate()
		expect(breaker.update(one).stats).toMatchObject({ state: 'open', retryAfterMs: Infinity })
	})
})
