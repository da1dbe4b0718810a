import { describe, expect, it } from 'vitest'
import { setup } from './circuit-setup.ts'

const one = { failureThreshold: 1, resetTimeoutMs: 1_000 }

describe('an open circuit', () => {
	it('rejects until the reset time, and says how long that is', () => {
		const breaker = setup(one).fail()
		expect(breaker.admit()).toBe(-1)
		expect(breaker.pass(400).stats).toMatchObject({ retryAfterMs: 600, rejectedCount: 1 })
		expect(breaker.pass(599).admit()).toBe(-1)
		expect(breaker.circuit.state).toBe('open')
	})
	it('becomes half-open with the first call at the reset time, not earlier', () => {
		const breaker = setup(one).fail().pass(1_000)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 0 })
		expect(breaker.admit()).toBeGreaterThan(0)
		expect(breaker.circuit.state).toBe('half-open')
		expect(breaker.changes).toEqual(['closed -> open', 'open -> half-open'])
	})
	it('ignores calls that began before it opened', () => {
		const breaker = setup(one)
		const [a, b] = [breaker.admit(), breaker.admit()]
		breaker.fail().succeed(a).fail(b)
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 0, retryAfterMs: 1_000 })
	})
	it('stays open for a Retry-After, up to maxRetryAfterMs', () => {
		expect(setup(one).fail(0, 5_000).stats.retryAfterMs).toBe(5_000)
		expect(setup(one).fail(0, 90_000).stats.retryAfterMs).toBe(60_000)
		expect(setup({ ...one, maxRetryAfterMs: 2_000 }).fail(0, 5_000).stats.retryAfterMs).toBe(2_000)
	})
	it('never stays open for less because of a Retry-After', () => {
		expect(setup(one).fail(0, 10).stats.retryAfterMs).toBe(1_000)
		expect(setup({ ...one, maxRetryAfterMs: 0 }).fail(0, 5_000).stats.retryAfterMs).toBe(1_000)
	})
	it.each([
		[Number.NaN, 1_000],
		[-5, 1_000],
		[Infinity, 60_000],
	])('is open for a finite, positive time after a Retry-After of %s', (asked, retryAfterMs) => {
		const breaker = setup(one).fail(0, asked)
		expect(breaker.admit()).toBe(-1)
		expect(breaker.stats.retryAfterMs).toBe(retryAfterMs)
		expect(breaker.pass(retryAfterMs).admit()).toBeGreaterThan(0)
	})
	it('honors the Retry-After of a failed probe', () => {
		const breaker = setup(one).fail().pass(1_000)
		expect(breaker.fail(breaker.admit(), 7_000).stats.retryAfterMs).toBe(7_000)
	})
})

describe('a half-open circuit', () => {
	const probing = (options = {}) =>
		setup({ ...one, ...options })
			.fail()
			.pass(1_000)

	it('admits one probe and rejects the others', () => {
		const breaker = probing()
		expect([breaker.admit(), breaker.admit(), breaker.admit()].map((ticket) => ticket > 0)).toEqual([
			true,
			false,
			false,
		])
		expect(breaker.stats.rejectedCount).toBe(2)
	})
	it('admits halfOpenMaxConcurrent concurrent probes', () => {
		const breaker = probing({ halfOpenMaxConcurrent: 2, successThreshold: 3 })
		const first = breaker.admit()
		expect(breaker.admit()).toBeGreaterThan(0)
		expect(breaker.admit()).toBe(-1)
		expect(breaker.succeed(first).admit()).toBeGreaterThan(0)
		expect(breaker.admit()).toBe(-1)
	})
	it('closes after successThreshold successes, with empty counts', () => {
		const breaker = probing().succeed()
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 1, errorRate: 0 })
		expect(breaker.succeed().stats).toMatchObject({
			state: 'closed',
			successCount: 0,
			failureCount: 0,
			consecutiveFailures: 0,
			rejectedCount: 0,
		})
		expect(breaker.changes.at(-1)).toBe('half-open -> closed')
	})
	it('opens again at one failure, for the whole open time', () => {
		const breaker = probing().succeed().fail()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
		expect(breaker.changes.at(-1)).toBe('half-open -> open')
	})
	it('counts only the successes of its current half-open state', () => {
		expect(probing().succeed().fail().pass(1_000).succeed().circuit.state).toBe('half-open')
	})
	it('opens again at a slow success if slow calls count', () => {
		expect(probing({ slowCallMs: 500 }).calls('S').circuit.state).toBe('open')
		expect(probing().calls('S').circuit.state).toBe('half-open')
	})
	it('frees the slot of an ignored probe and does not count it', () => {
		const breaker = probing({ successThreshold: 1 })
		breaker.ignore(breaker.admit())
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 0 })
		expect(breaker.succeed().circuit.state).toBe('closed')
	})
	it('counts a probe once, however often its end is reported', () => {
		const breaker = probing({ successThreshold: 2 })
		const probe = breaker.admit()
		expect(breaker.succeed(probe).succeed(probe).circuit.state).toBe('half-open')
	})
	it('ignores a probe of an earlier half-open state', () => {
		const breaker = probing({ halfOpenMaxConcurrent: 2, successThreshold: 1 })
		const [late, failing] = [breaker.admit(), breaker.admit()]
		breaker.fail(failing).pass(1_000).admit()
		expect(breaker.succeed(late).circuit.state).toBe('half-open')
		expect(breaker.fail(late).circuit.state).toBe('half-open')
	})
	it('ignores a call that began while it was closed', () => {
		const breaker = setup({ ...one, successThreshold: 1 })
		const early = breaker.admit()
		breaker.fail().pass(1_000).admit()
		expect(breaker.succeed(early).circuit.state).toBe('half-open')
		expect(breaker.fail(early).circuit.state).toBe('half-open')
	})
	it('does not count a late probe in the next closed state', () => {
		const breaker = probing({ halfOpenMaxConcurrent: 2, successThreshold: 1 })
		const [late, quick] = [breaker.admit(), breaker.admit()]
		breaker.succeed(quick)
		expect(breaker.fail(late).stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
	it('has assigned the probe slot before it notifies, so that a hook that calls is rejected', () => {
		const breaker = probing()
		const inside: number[] = []
		breaker.circuit.listener = {
			onChange: () => {
				inside.push(breaker.admit())
			},
		}
		expect(breaker.admit()).toBeGreaterThan(0)
		expect(inside).toEqual([-1])
	})
	it("names the end of the oldest probe's timeout while all slots are in use", () => {
		const breaker = probing({ probeTimeoutMs: 200, halfOpenMaxConcurrent: 2 })
		breaker.admit()
		expect(breaker.pass(50).stats.retryAfterMs).toBe(0)
		breaker.admit()
		expect(breaker.stats.retryAfterMs).toBe(150)
	})
})

describe('with halfOpenFailureRate', () => {
	const half = (options = {}) =>
		setup({ ...one, successThreshold: 4, halfOpenFailureRate: 0.5, ...options })
			.fail()
			.pass(1_000)

	it('closes when successThreshold probes have ended and fewer than that share failed', () => {
		const breaker = half().calls('fss')
		expect(breaker.stats).toMatchObject({
			state: 'half-open',
			failureCount: 1,
			successCount: 2,
			errorRate: 1 / 3,
		})
		expect(breaker.calls('s').stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
	})
	it('closes with a failed probe as the last one', () => {
		expect(half().calls('sssf').circuit.state).toBe('closed')
	})
	it('opens as soon as that share of successThreshold probes has failed', () => {
		expect(half().calls('ff').stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
		expect(half().calls('sfsf').circuit.state).toBe('open')
	})
	it('counts a slow probe as failed', () => {
		const breaker = half({ slowCallMs: 500 }).calls('S')
		expect(breaker.stats).toMatchObject({ state: 'half-open', failureCount: 1 })
		expect(breaker.calls('S').circuit.state).toBe('open')
	})
	it('counts a hung probe as one failed probe, and frees its slot', () => {
		const breaker = half({ probeTimeoutMs: 200, halfOpenMaxConcurrent: 2 })
		const hung = breaker.admit()
		breaker.pass(100).admit()
		expect(breaker.pass(100).stats).toMatchObject({ state: 'half-open', failureCount: 1, retryAfterMs: 0 })
		expect(breaker.succeed(hung).stats).toMatchObject({ successCount: 0 })
		expect(breaker.pass(100).stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})
	it('closes if a hung probe was the last one', () => {
		const breaker = half({ probeTimeoutMs: 200 }).calls('sss')
		breaker.admit()
		expect(breaker.pass(200).admit()).toBe(breaker.circuit.generation)
		expect(breaker.circuit.state).toBe('closed')
	})
	it('a halfOpenFailureRate of 1 opens only if all probes fail', () => {
		expect(half({ halfOpenFailureRate: 1 }).calls('fffs').circuit.state).toBe('closed')
		expect(half({ halfOpenFailureRate: 1 }).calls('ffff').circuit.state).toBe('open')
	})
	it('begins to count again with the next half-open state', () => {
		expect(half().calls('ff').pass(1_000).calls('f').circuit.state).toBe('half-open')
	})
	it('judges the probes so far by settings that change meanwhile', () => {
		const breaker = half()
			.calls('f')
			.update({ ...one, successThreshold: 4 })
		expect(breaker.calls('s').circuit.state).toBe('open')
	})
})

describe('a hung probe does not lock the circuit', () => {
	const hung = (options = {}) => {
		const breaker = setup({ ...one, probeTimeoutMs: 200, successThreshold: 1, ...options })
			.fail()
			.pass(1_000)
		return { breaker, probe: breaker.admit() }
	}

	it('has failed after probeTimeoutMs, and the circuit is open from that moment', () => {
		const { breaker } = hung()
		expect(breaker.pass(199).admit()).toBe(-1)
		expect(breaker.circuit.state).toBe('half-open')
		expect(breaker.pass(1).admit()).toBe(-1)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})
	it('a caller long afterwards is the next probe immediately', () => {
		const { breaker } = hung()
		expect(breaker.pass(1_200).admit()).toBeGreaterThan(0)
		expect(breaker.changes.slice(-2)).toEqual(['half-open -> open', 'open -> half-open'])
	})
	it('is visible in stats', () => {
		const { breaker } = hung()
		expect(breaker.pass(700).stats).toMatchObject({ state: 'open', retryAfterMs: 500 })
	})
	it('its late result is ignored', () => {
		const { breaker, probe } = hung()
		expect(breaker.pass(200).succeed(probe).circuit.state).toBe('open')
		const other = hung()
		other.breaker.pass(1_200).admit()
		expect(other.breaker.succeed(other.probe).circuit.state).toBe('half-open')
	})
	it('its late cancellation is ignored', () => {
		const { breaker, probe } = hung()
		expect(breaker.pass(300).ignore(probe).stats).toMatchObject({ state: 'open', retryAfterMs: 900 })
	})
	it('the oldest of several decides', () => {
		const { breaker, probe } = hung({ halfOpenMaxConcurrent: 3, successThreshold: 3 })
		const second = breaker.pass(100).admit()
		breaker.succeed(probe)
		expect(breaker.pass(199).admit()).toBeGreaterThan(0)
		expect(breaker.pass(1).succeed(second).stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})
	it('has 10 s by default, whatever the open time is', () => {
		// Regression: the default was the open time, and with a short open time every slow probe failed.
		const breaker = setup(one).fail().pass(1_000)
		breaker.admit()
		expect(breaker.pass(9_999).stats.state).toBe('half-open')
		expect(breaker.pass(1).stats.state).toBe('open')
	})
})

describe('resetBackoff', () => {
	const openTimes = (resetBackoff: object, count: number, draw = 0.5, resetTimeoutMs = 10_000) => {
		const breaker = setup({ ...one, resetTimeoutMs, resetBackoff })
		breaker.draw = draw
		return Array.from({ length: count }, () => {
			const { retryAfterMs } = breaker.fail().stats
			breaker.pass(retryAfterMs)
			return retryAfterMs
		})
	}

	it('is off by default: the open time is always exactly resetTimeoutMs', () => {
		const breaker = setup(one)
		const times = Array.from({ length: 4 }, () => breaker.pass(1_000).fail().stats.retryAfterMs)
		expect(times).toEqual([1_000, 1_000, 1_000, 1_000])
	})
	it('starts at 1 s and grows by half with every failed probe, up to resetTimeoutMs', () => {
		expect(openTimes({ jitterStrategy: 'none' }, 8)).toEqual([
			1_000, 1_500, 2_250, 3_375, 5_062.5, 7_593.75, 10_000, 10_000,
		])
	})
	it('starts at initialMs', () => {
		expect(openTimes({ jitterStrategy: 'none', initialMs: 300 }, 3)).toEqual([300, 450, 675])
		expect(openTimes({ initialMs: 300 }, 1, 0)).toEqual([150])
	})
	it('starts at resetTimeoutMs, if that is less than the default', () => {
		expect(openTimes({ jitterStrategy: 'none' }, 2, 0, 400)).toEqual([400, 400])
	})
	it.each(['none', 'full', 'equal', 'decorrelated'])(
		'with jitter %s never exceeds resetTimeoutMs, and has jitter there',
		(jitterStrategy) => {
			const last = (draw: number) => openTimes({ jitterStrategy }, 12, draw).at(-1) ?? 0
			expect(Math.ceil(last(1 - 1e-12))).toBe(10_000)
			if (jitterStrategy !== 'none') expect(last(0.5)).toBeLessThan(10_000)
		},
	)
	it('spreads it over the upper half of each step', () => {
		expect(openTimes({}, 3, 0)).toEqual([500, 750, 1_125])
		expect(openTimes({}, 3, 0.5)).toEqual([750, 1_125, 1_687.5])
	})
	it('continues from the previous time, if the strategy does', () => {
		expect(openTimes({ jitterStrategy: 'decorrelated' }, 3)).toEqual([2_000, 3_500, 5_500])
	})
	it('grows by the factor', () => {
		expect(openTimes({ jitterStrategy: 'none', factor: 3 }, 3, 0, 5_000)).toEqual([1_000, 3_000, 5_000])
	})
	it('starts again after the circuit was closed', () => {
		const options = { ...one, resetTimeoutMs: 9_000, successThreshold: 1 }
		const breaker = setup({ ...options, resetBackoff: { jitterStrategy: 'none' } })
		breaker.fail().pass(1_000).fail().pass(1_500).succeed()
		expect(breaker.fail().stats.retryAfterMs).toBe(1_000)
	})
	it('is not changed by a Retry-After', () => {
		const breaker = setup({
			...one,
			resetTimeoutMs: 50_000,
			resetBackoff: { jitterStrategy: 'decorrelated' },
		})
		expect(breaker.fail(0, 30_000).stats.retryAfterMs).toBe(30_000)
		expect(breaker.pass(30_000).fail().stats.retryAfterMs).toBe(3_500)
	})
	it('is the longest wait that is asked for while probes run: 10 s, the timeout of a probe, outlasted the fault', () => {
		const breaker = setup({ ...one, resetTimeoutMs: 9_000, resetBackoff: { jitterStrategy: 'none' } })
			.fail()
			.pass(1_000)
		breaker.admit()
		expect(breaker.stats).toMatchObject({ state: 'half-open', retryAfterMs: 1_000 })
		expect(breaker.pass(9_500).stats.retryAfterMs).toBe(500)
	})
	it('counts a hung probe as a failed probe', () => {
		const breaker = setup({ ...one, resetTimeoutMs: 9_000, resetBackoff: { jitterStrategy: 'none' } })
			.fail()
			.pass(1_000)
		breaker.admit()
		expect(breaker.pass(10_000).stats.retryAfterMs).toBe(1_500)
	})
})
