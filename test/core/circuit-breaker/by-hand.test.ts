import { describe, expect, it } from 'vitest'
import { rig } from './rig.ts'

const one = { failureThreshold: 1, resetTimeoutMs: 1_000 }

describe('isolate', () => {
	it('holds the circuit open for as long as it takes', () => {
		const breaker = rig(one)
		breaker.circuit.isolate()
		expect(breaker.pass(1e12).admit()).toBe(-1)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: Infinity })
		expect(breaker.told).toEqual(['closed -> open'])
	})
	it('lets go when the handle is released: closed, and as new', () => {
		const breaker = rig({ failureThreshold: 2 }).calls('f')
		breaker.circuit.isolate()()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, rejectedCount: 0 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
	})
	it('waits for every handle, and a handle counts once', () => {
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
	it('calls under way count for nothing', () => {
		const breaker = rig(one)
		const call = breaker.admit()
		const release = breaker.circuit.isolate()
		breaker.fail(call)
		release()
		expect(breaker.fail(call).stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
	it('probes under way count for nothing, and none of them is waited for', () => {
		const breaker = rig({ ...one, successThreshold: 1 })
			.fail()
			.pass(1_000)
		const probe = breaker.admit()
		breaker.circuit.isolate()
		expect(breaker.succeed(probe).circuit.state).toBe('open')
		expect(breaker.pass(60_000).stats.retryAfterMs).toBe(Infinity)
		expect(breaker.told.at(-1)).toBe('half-open -> open')
	})
	it('of a circuit that is open already tells nothing, and closes it when released', () => {
		const breaker = rig(one).fail()
		breaker.circuit.isolate()()
		expect(breaker.told).toEqual(['closed -> open', 'open -> closed'])
	})
	it('is in force before it is told, so that a hook can not undo it', () => {
		const { circuit } = rig()
		circuit.onChange = () => circuit.reset()
		circuit.isolate()
		expect(circuit.state).toBe('open')
	})
})

describe('reset', () => {
	it('closes an open circuit, and forgets what opened it', () => {
		const breaker = rig(one).fail()
		breaker.circuit.reset()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, consecutiveFailures: 0 })
		expect(breaker.told).toEqual(['closed -> open', 'open -> closed'])
	})
	it('of a closed circuit forgets, and tells nothing', () => {
		const breaker = rig({ failureThreshold: 2 }).calls('f')
		breaker.circuit.reset()
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.told).toEqual([])
	})
	it('makes calls under way count for nothing', () => {
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

describe('a shadow lets refused calls run on, with the ticket of a refusal', () => {
	it('which counts for nothing, in any state', () => {
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
	it('keeps the state, the streak and the counts', () => {
		const breaker = rig({ failureThreshold: 3 }).calls('sff').update({ failureThreshold: 4 })
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 1, consecutiveFailures: 2 })
		expect(breaker.calls('f').circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a lower threshold is looked at with the next failure', () => {
		const breaker = rig({ failureThreshold: 9 }).calls('fff').update({ failureThreshold: 2 })
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
	})
	it('a changed resetTimeoutMs counts from the next opening on', () => {
		const breaker = rig(one)
			.fail()
			.update({ ...one, resetTimeoutMs: 9_000 })
		expect(breaker.stats.retryAfterMs).toBe(1_000)
		expect(breaker.pass(1_000).fail().stats.retryAfterMs).toBe(9_000)
	})
	it('a smaller count window keeps the latest calls, a larger one all of them', () => {
		const sized = (windowSize: number) => ({ windowSize, minimumRequests: 1, failureThreshold: 99 })
		const breaker = rig(sized(6)).calls('ffffsf')
		expect(breaker.update(sized(3)).stats).toMatchObject({ failureCount: 2, successCount: 1 })
		expect(breaker.update(sized(5)).calls('ss').stats).toMatchObject({ failureCount: 2, successCount: 3 })
		expect(breaker.calls('s').stats).toMatchObject({ failureCount: 1, successCount: 4 })
	})
	it('another monitorWindowMs keeps the counts, as though all had just happened', () => {
		const breaker = rig({ monitorWindowMs: 1_000 }).calls('sf').pass(500).update({ monitorWindowMs: 10_000 })
		expect(breaker.pass(9_999).stats).toMatchObject({ failureCount: 1, successCount: 1 })
		expect(breaker.pass(1).stats).toMatchObject({ failureCount: 0, successCount: 0 })
	})
	it('the same windows again do not keep old counts alive', () => {
		const options = { monitorWindowMs: 1_000 }
		const breaker = rig(options).calls('s')
		for (let i = 0; i < 10; i++) breaker.pass(100).update({ ...options, slowCallMs: undefined })
		expect(breaker.stats.successCount).toBe(0)
	})
	it('from a window of time to one of calls begins with an empty one', () => {
		expect(rig().calls('sf').update({ windowSize: 10 }).stats).toMatchObject({
			failureCount: 0,
			successCount: 0,
		})
		expect(rig({ windowSize: 10 }).calls('sf').update({}).stats.successCount).toBe(0)
	})
	it('calls that were slow are like others where nothing is slow any more', () => {
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
	it('switching the streak off forgets it', () => {
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
