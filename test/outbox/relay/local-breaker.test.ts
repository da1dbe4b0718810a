import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCircuitBreakerOptions } from '../../../src/core/circuit-breaker/options.ts'
import { LocalBreaker } from '../../../src/outbox/relay/local-breaker.ts'
import type { CircuitChange, DestinationCircuit } from '../../../src/outbox/store/rows.ts'

const chance = { random: () => 0.5 }
const SETTINGS = readCircuitBreakerOptions({
	failureThreshold: 2,
	resetTimeoutMs: 1_000,
	successThreshold: 1,
	resetBackoff: { jitterStrategy: 'none' },
})
const gateFor = (isCounting = true) => new LocalBreaker('d', SETTINGS, isCounting, 10_000)

/** What a store would answer. */
function stored(change: CircuitChange): DestinationCircuit {
	const { version, ...rest } = change
	return { ...rest, closedAgoMs: change.state === 'closed' ? 0 : null, version: version + 1 }
}

function opened(gate: LocalBreaker, now: number): CircuitChange {
	gate.failed(gate.ticket, now, 1, undefined, chance)
	const change = gate.failed(gate.ticket, now, 1, undefined, chance)
	if (!change) throw new Error('it stayed closed')
	return change
}

test('it opens after so many failures, and is shut here before the store has heard of it', () => {
	const gate = gateFor()
	expect(opened(gate, 0)).toMatchObject({ state: 'open', pausedForMs: 1_000, version: 0, failedProbes: 0 })
	expect(gate.heldUntil).toBe(1_000)
	expect(gate.state).toBe('closed')
})

test('an answer that was on its way when it was shut does not open it again', () => {
	// Of a gate that had been open before: the claim under way told its old state, and what that claim brought was sent to a dead host.
	const gate = gateFor()
	const before: DestinationCircuit = {
		...stored({ ...opened(gate, 0), state: 'closed', pausedForMs: 0, reason: null }),
	}
	gate.see(before, 5_000)
	expect(gate.heldUntil).toBe(-Infinity)
	const change = opened(gate, 6_000)
	gate.see(before, 6_001)
	expect(gate.heldUntil).toBe(7_000)
	gate.see(stored(change), 6_010)
	expect(gate.heldUntil).toBe(7_010)
	expect(gate.state).toBe('open')
})

test('an older answer than what is known changes nothing', () => {
	const gate = gateFor()
	const open = stored(opened(gate, 0))
	gate.see({ ...open, version: 7 }, 0)
	gate.see({ ...open, state: 'closed', version: 6 }, 0)
	expect(gate.state).toBe('open')
})

test('one that does not count heeds what others say', () => {
	const gate = gateFor(false)
	for (let n = 0; n < 10; n++) expect(gate.failed(gate.ticket, n, 1, undefined, chance)).toBeUndefined()
	gate.see(stored(opened(gateFor(), 0)), 0)
	expect(gate.heldUntil).toBe(1_000)
	expect(gate.shouldProbe(1_000)).toBe(true)
})

test('only tickets of the probe count while it probes', () => {
	const gate = gateFor()
	const old = gate.ticket
	gate.see(stored(opened(gate, 0)), 0)
	gate.see(stored(gate.askToProbe(5_000)), 1_000)
	gate.beginProbe(6_000)
	expect(gate.limit(16, 1_000)).toBe(1)
	expect(gate.succeeded(old, 1_100, 1, chance)).toBeUndefined()
	expect(gate.failed(old, 1_100, 1, undefined, chance)).toBeUndefined()
	expect(gate.isProbing).toBe(true)
	expect(gate.failed(gate.ticket, 1_200, 1, undefined, chance)).toMatchObject({
		state: 'open',
		pausedForMs: 2_000,
		failedProbes: 1,
	})
})

test('whoever does not end its probe in time probes no longer, and may ask again', () => {
	const gate = gateFor()
	gate.see(stored(opened(gate, 0)), 0)
	gate.see(stored(gate.askToProbe(5_000)), 1_000)
	gate.beginProbe(6_000)
	expect(gate.shouldProbe(5_999)).toBe(false)
	expect(gate.isProbing).toBe(true)
	expect(gate.shouldProbe(6_000)).toBe(true)
	expect(gate.isProbing).toBe(false)
})

test('a probe that went well closes it, and room grows from one', () => {
	const gate = gateFor()
	gate.see(stored(opened(gate, 0)), 0)
	gate.see(stored(gate.askToProbe(5_000)), 1_000)
	gate.beginProbe(6_000)
	const change = gate.succeeded(gate.ticket, 1_500, 1, chance)
	expect(change).toMatchObject({ state: 'closed', pausedForMs: 0, failedProbes: 0 })
	if (change) gate.see(stored(change), 1_500)
	expect(gate.limit(16, 1_500)).toBe(1)
	expect(gate.limit(16, 6_500)).toBe(4)
	expect(gate.limit(16, 11_500)).toBe(16)
})

test('of relays that share a store never two probe at a time, whatever they do and in whatever order', () => {
	const step = fc.record({
		who: fc.nat(2),
		what: fc.constantFrom('ask', 'good', 'bad', 'look', 'nothing'),
		ms: fc.nat(3_000),
	})
	fc.assert(
		fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
			const gates = [gateFor(), gateFor(), gateFor()]
			let now = 0
			let gate: DestinationCircuit = stored(opened(gateFor(), 0))
			let heldUntil = 1_000
			const seen = (): DestinationCircuit => ({ ...gate, pausedForMs: Math.max(0, heldUntil - now) })
			const turn = (one: LocalBreaker, change: CircuitChange | undefined): boolean => {
				if (!change) return false
				const isDone = change.version === gate.version
				if (isDone) {
					gate = stored(change)
					heldUntil = now + change.pausedForMs
				}
				one.see(seen(), now)
				return isDone
			}
			for (const one of gates) one.see(seen(), 0)
			for (const { who, what, ms } of steps) {
				now += ms
				const one = gates[who] as LocalBreaker
				if (what === 'look') one.see(seen(), now)
				const isTime = one.shouldProbe(now)
				if (what === 'ask' && isTime && turn(one, one.askToProbe(5_000))) one.beginProbe(now + 5_000)
				if (what === 'good' && one.isProbing) turn(one, one.succeeded(one.ticket, now, 1, chance))
				if (what === 'bad' && one.isProbing) turn(one, one.failed(one.ticket, now, 1, undefined, chance))
				if (what === 'nothing' && one.isProbing) turn(one, one.endProbe())
				const probing = gates.filter((other) => {
					other.shouldProbe(now)
					return other.isProbing
				})
				expect(probing.length).toBeLessThanOrEqual(1)
			}
		}),
	)
})
