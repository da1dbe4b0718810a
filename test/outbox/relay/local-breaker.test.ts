import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCircuitBreakerOptions } from '../../../src/core/circuit-breaker/options.ts'
import { LocalBreaker } from '../../../src/outbox/relay/local-breaker.ts'
import type { CircuitChange, DestinationCircuit } from '../../../src/outbox/store/rows.ts'

const relay = { rampUpMs: 10_000, runtime: { random: () => 0.5 } }
const SETTINGS = {
	...readCircuitBreakerOptions({
		failureThreshold: 2,
		successThreshold: 1,
		resetBackoff: { jitterStrategy: 'none' },
	}),
	permanentThreshold: 5,
}
const createBreaker = () => new LocalBreaker('d', SETTINGS, relay)

/** Returns the circuit that a store would return after the change. */
function stored(change: CircuitChange): DestinationCircuit {
	const { version, ...rest } = change
	const closedAgoMs = change.state === 'closed' ? 0 : null
	return { ...rest, operatorPause: null, closedAgoMs, version: version + 1 }
}

function opened(breaker: LocalBreaker, now: number): CircuitChange {
	breaker.recordFailure(breaker.generation, now, 1)
	const change = breaker.recordFailure(breaker.generation, now, 1)
	if (!change) throw new Error('the circuit stayed closed')
	return change
}

test('opens after failureThreshold failures and pauses locally before the store knows', () => {
	const breaker = createBreaker()
	expect(opened(breaker, 0)).toMatchObject({ state: 'open', pausedForMs: 1_000, version: 0, failedProbes: 0 })
	expect(breaker.pausedUntil).toBe(1_000)
	expect(breaker.state).toBe('closed')
})

test('an older store response does not end a local pause', () => {
	// Regression: a claim in flight returned the old state, and its messages were sent to a dead host.
	const breaker = createBreaker()
	const before: DestinationCircuit = {
		...stored({ ...opened(breaker, 0), state: 'closed', pausedForMs: 0, reason: null }),
	}
	breaker.update(before, 5_000)
	expect(breaker.pausedUntil).toBe(-Infinity)
	const change = opened(breaker, 6_000)
	breaker.update(before, 6_001)
	expect(breaker.pausedUntil).toBe(7_000)
	breaker.update(stored(change), 6_010)
	expect(breaker.pausedUntil).toBe(7_010)
	expect(breaker.state).toBe('open')
})

test('ignores an outdated store response', () => {
	const breaker = createBreaker()
	const open = stored(opened(breaker, 0))
	breaker.update({ ...open, version: 7 }, 0)
	breaker.update({ ...open, state: 'closed', version: 6 }, 0)
	expect(breaker.state).toBe('open')
})

test('a breaker without settings obeys the shared state', () => {
	const breaker = new LocalBreaker('d', undefined, relay)
	for (let n = 0; n < 10; n++) expect(breaker.recordFailure(breaker.generation, n, 1)).toBeUndefined()
	breaker.update(stored(opened(createBreaker(), 0)), 0)
	expect(breaker.pausedUntil).toBe(1_000)
	expect(breaker.shouldProbe(1_000)).toBe(true)
})

test('only results of the probe generation count while probing', () => {
	const breaker = createBreaker()
	const old = breaker.generation
	breaker.update(stored(opened(breaker, 0)), 0)
	breaker.update(stored(breaker.requestProbe(5_000)), 1_000)
	breaker.startProbe(6_000)
	expect(breaker.limit(16, 1_000)).toBe(1)
	expect(breaker.recordSuccess(old, 1_100, 1)).toBeUndefined()
	expect(breaker.recordFailure(old, 1_100, 1)).toBeUndefined()
	expect(breaker.isProbing).toBe(true)
	expect(breaker.recordFailure(breaker.generation, 1_200, 1)).toMatchObject({
		state: 'open',
		pausedForMs: 1_500,
		failedProbes: 1,
	})
})

test('a probe that does not end in time ends and can be requested again', () => {
	const breaker = createBreaker()
	breaker.update(stored(opened(breaker, 0)), 0)
	breaker.update(stored(breaker.requestProbe(5_000)), 1_000)
	breaker.startProbe(6_000)
	expect(breaker.shouldProbe(5_999)).toBe(false)
	expect(breaker.isProbing).toBe(true)
	expect(breaker.shouldProbe(6_000)).toBe(true)
	expect(breaker.isProbing).toBe(false)
})

test('a successful probe closes the circuit, and the limit ramps up from one', () => {
	const breaker = createBreaker()
	breaker.update(stored(opened(breaker, 0)), 0)
	breaker.update(stored(breaker.requestProbe(5_000)), 1_000)
	breaker.startProbe(6_000)
	const change = breaker.recordSuccess(breaker.generation, 1_500, 1)
	expect(change).toMatchObject({ state: 'closed', pausedForMs: 0, failedProbes: 0 })
	if (change) breaker.update(stored(change), 1_500)
	expect(breaker.limit(16, 1_500)).toBe(1)
	expect(breaker.limit(16, 6_500)).toBe(4)
	expect(breaker.limit(16, 11_500)).toBe(16)
})

test('at most one of several relays probes at a time, in any sequence of steps', () => {
	const step = fc.record({
		who: fc.nat(2),
		what: fc.constantFrom('ask', 'good', 'bad', 'look', 'nothing'),
		ms: fc.nat(3_000),
	})
	fc.assert(
		fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
			const breakers = [createBreaker(), createBreaker(), createBreaker()]
			let now = 0
			let circuit: DestinationCircuit = stored(opened(createBreaker(), 0))
			let pausedUntil = 1_000
			const seen = (): DestinationCircuit => ({ ...circuit, pausedForMs: Math.max(0, pausedUntil - now) })
			const turn = (one: LocalBreaker, change: CircuitChange | undefined): boolean => {
				if (!change) return false
				const isDone = change.version === circuit.version
				if (isDone) {
					circuit = stored(change)
					pausedUntil = now + change.pausedForMs
				}
				one.update(seen(), now)
				return isDone
			}
			for (const one of breakers) one.update(seen(), 0)
			for (const { who, what, ms } of steps) {
				now += ms
				const one = breakers[who] as LocalBreaker
				if (what === 'look') one.update(seen(), now)
				const isTime = one.shouldProbe(now)
				if (what === 'ask' && isTime && turn(one, one.requestProbe(5_000))) one.startProbe(now + 5_000)
				if (what === 'good' && one.isProbing) turn(one, one.recordSuccess(one.generation, now, 1))
				if (what === 'bad' && one.isProbing) turn(one, one.recordFailure(one.generation, now, 1))
				if (what === 'nothing' && one.isProbing) turn(one, one.cancelProbe())
				const probing = breakers.filter((other) => {
					other.shouldProbe(now)
					return other.isProbing
				})
				expect(probing.length).toBeLessThanOrEqual(1)
			}
		}),
	)
})
