import { describe, expect, it } from 'vitest'
import { setup } from './circuit-setup.ts'

const HOUR = 3_600_000

describe('consecutive failures open the circuit', () => {
	it('opens at the fifth failure by default', () => {
		const breaker = setup().calls('ffff')
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('f').circuit.state).toBe('open')
		expect(breaker.changes).toEqual(['closed -> open'])
	})
	it('opens at the first failure with a threshold of 1', () => {
		expect(setup({ failureThreshold: 1 }).calls('f').circuit.state).toBe('open')
	})
	it('stays closed if a success comes between the failures', () => {
		expect(setup({ failureThreshold: 3 }).calls('ffsffsff').circuit.state).toBe('closed')
	})
	it('opens if the first and the last failure are exactly one window apart', () => {
		const breaker = setup({ failureThreshold: 3, monitorWindowMs: 1_000 })
		expect(breaker.calls('f').pass(500).calls('f').pass(500).calls('f').circuit.state).toBe('open')
	})
	it('stays closed if the failures are further apart than the window, however many there are', () => {
		const breaker = setup({ failureThreshold: 3, monitorWindowMs: 1_000 })
		for (let i = 0; i < 1_000; i++) breaker.calls('f').pass(501)
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.stats.consecutiveFailures).toBe(1)
	})
	it('opens if the last failures are close enough, whatever came before', () => {
		const breaker = setup({ failureThreshold: 3, monitorWindowMs: 1_000 })
		breaker.calls('ff').pass(2_000).calls('f').pass(900).calls('f')
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.pass(100).calls('f').circuit.state).toBe('open')
	})
	it('stays closed if the rule is off', () => {
		const breaker = setup({ failureThreshold: Infinity, errorRateThreshold: 1, minimumRequests: 1_000 })
		expect(breaker.calls('f'.repeat(999)).circuit.state).toBe('closed')
		expect(breaker.stats.consecutiveFailures).toBe(0)
	})
	it('counts calls in the order in which they end, not in which they began', () => {
		const breaker = setup({ failureThreshold: 2 })
		const [first, second, third] = [breaker.admit(), breaker.admit(), breaker.admit()]
		breaker.fail(third).succeed(first).fail(second)
		expect(breaker.circuit.state).toBe('closed')
	})
})

describe('an error rate opens the circuit', () => {
	const rate = { failureThreshold: Infinity, errorRateThreshold: 0.6 }

	it('opens at 6 failures of 10 for a threshold of 0.6, not at 5', () => {
		expect(setup(rate).calls('fffffsssss').circuit.state).toBe('closed')
		expect(setup(rate).calls('ffffffssss').circuit.state).toBe('open')
	})
	it('opens at 7 failures of 25 for a threshold of 0.28, although 0.28 * 25 is slightly more than 7', () => {
		const breaker = setup({ ...rate, errorRateThreshold: 0.28, minimumRequests: 25 })
		expect(breaker.calls(`${'s'.repeat(18)}fffffff`).circuit.state).toBe('open')
	})
	it('stays closed before minimumRequests', () => {
		const breaker = setup({ ...rate, minimumRequests: 4 }).calls('fff')
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('s').circuit.state).toBe('open')
	})
	it('over the last windowSize calls, whenever they were', () => {
		const breaker = setup({ ...rate, windowSize: 5, minimumRequests: 5 }).calls('sssss')
		expect(breaker.pass(HOUR).calls('ff').circuit.state).toBe('closed')
		expect(breaker.pass(HOUR).calls('f').circuit.state).toBe('open')
	})
	it('through a success, when older ones have left the window', () => {
		const breaker = setup({ ...rate, monitorWindowMs: 1_000, minimumRequests: 3 }).calls('sss')
		expect(breaker.pass(900).calls('ff').circuit.state).toBe('closed')
		expect(breaker.pass(100).calls('s').circuit.state).toBe('open')
	})
	it('ignores calls that have left the time window', () => {
		const breaker = setup({ ...rate, monitorWindowMs: 10_000 }).calls('fffffffff')
		expect(breaker.pass(10_000).calls('f').circuit.state).toBe('closed')
	})
	it('together with consecutive failures: the first rule wins', () => {
		const both = { failureThreshold: 3, errorRateThreshold: 0.5, minimumRequests: 4 }
		expect(setup(both).calls('fff').circuit.state).toBe('open')
		expect(setup(both).calls('sfsf').circuit.state).toBe('open')
	})
})

describe('slow calls open the circuit', () => {
	const slow = { slowCallMs: 1_000, minimumRequests: 4 }

	it('opens when half of the calls are slow by default', () => {
		expect(setup(slow).calls('sssS').circuit.state).toBe('closed')
		expect(setup(slow).calls('ssSS').circuit.state).toBe('open')
	})
	it('opens when the configured share of calls is slow', () => {
		expect(setup({ ...slow, slowCallRateThreshold: 1 }).calls('sSSS').circuit.state).toBe('closed')
		expect(setup({ ...slow, slowCallRateThreshold: 1 }).calls('SSSS').circuit.state).toBe('open')
	})
	it('whether they failed or not', () => {
		expect(setup(slow).calls('sSsF').circuit.state).toBe('open')
	})
	it('counts a call as slow from exactly slowCallMs on', () => {
		const breaker = setup({ slowCallMs: 1_001, minimumRequests: 1 })
		expect(breaker.calls('S').circuit.state).toBe('closed')
		expect(breaker.succeed(breaker.admit(), 1_001).circuit.state).toBe('open')
		expect(breaker.stats).toMatchObject({ slowCallCount: 1, slowCallRate: 0.5 })
	})
	it('over a count window', () => {
		const breaker = setup({ ...slow, windowSize: 4 }).calls('ssssS')
		expect(breaker.circuit.state).toBe('closed')
		expect(breaker.calls('S').circuit.state).toBe('open')
	})
	it('stays closed without slowCallMs', () => {
		expect(setup({ minimumRequests: 1 }).calls('SSSSSSSS').stats).toMatchObject({
			state: 'closed',
			slowCallCount: 0,
		})
	})
})

describe('stats', () => {
	it('are zero at first', () => {
		expect(setup().stats).toEqual({
			state: 'closed',
			failureCount: 0,
			successCount: 0,
			errorRate: 0,
			slowCallCount: 0,
			slowCallRate: 0,
			consecutiveFailures: 0,
			rejectedCount: 0,
			retryAfterMs: 0,
			canProbe: false,
		})
	})
	it('count what is in the window', () => {
		expect(setup({ slowCallMs: 1_000 }).calls('sSfF').stats).toMatchObject({
			failureCount: 2,
			successCount: 2,
			errorRate: 0.5,
			slowCallCount: 2,
			slowCallRate: 0.5,
			consecutiveFailures: 2,
		})
	})
	it('count the last calls of a count window', () => {
		const breaker = setup({ windowSize: 10, failureThreshold: 100 }).calls('ffffffsssssss')
		expect(breaker.stats).toMatchObject({ failureCount: 3, successCount: 7, errorRate: 0.3 })
	})
	it('are empty after an idle hour', () => {
		const breaker = setup({ monitorWindowMs: 10_000 }).calls('sff').pass(HOUR)
		expect(breaker.stats).toMatchObject({ failureCount: 0, successCount: 0, consecutiveFailures: 0 })
	})
	it('show, while open, what opened it', () => {
		expect(setup({ failureThreshold: 2 }).calls('sff').stats).toMatchObject({
			state: 'open',
			failureCount: 2,
			successCount: 1,
			retryAfterMs: 30_000,
			canProbe: false,
		})
	})
	it('say that the next call is a probe, after the open time of a circuit without calls', () => {
		const breaker = setup({ failureThreshold: 2 }).calls('ff')
		expect(breaker.pass(29_999).stats).toMatchObject({ state: 'open', canProbe: false })
		expect(breaker.pass(1).stats).toMatchObject({ state: 'open', canProbe: true })
		expect(breaker.calls('ss').stats).toMatchObject({ state: 'closed', canProbe: false })
	})
	it('count a success with a slightly old time', () => {
		const breaker = setup().calls('f').pass(30_000).calls('f')
		breaker.circuit.succeed(breaker.circuit.generation, breaker.now - 20_000, 0, { random: () => 0 })
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 1, consecutiveFailures: 0 })
		// It went into the current tenth, and stays as long as that does.
		expect(breaker.pass(53_999).stats).toMatchObject({ failureCount: 1, successCount: 1 })
	})
	it('count a million calls in a window of bounded size', () => {
		const breaker = setup({ windowSize: 100, failureThreshold: Infinity, errorRateThreshold: 1 })
		for (let i = 0; i < 1_000_000; i++) breaker.succeed(breaker.circuit.generation)
		expect(breaker.calls('f').stats).toMatchObject({ failureCount: 1, successCount: 99 })
	})
})
