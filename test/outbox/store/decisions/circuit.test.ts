/** The circuit that relays share, as pure functions. stores-agree.slow.test.ts compares both stores with them. */
import { describe, expect, test } from 'vitest'
import {
	admitsClaim,
	applyChange,
	applyOperatorChange,
	applyPause,
	type CircuitRecord,
	NO_CIRCUIT,
	toCircuit,
} from '../../../../src/outbox/store/decisions/circuit.ts'
import type { CircuitChange, OperatorChange } from '../../../../src/outbox/store/rows.ts'
import { MAX_TIME } from '../../../../src/outbox/store/stored-values.ts'

const NOW = 10_000

const OPEN: CircuitRecord = {
	...NO_CIRCUIT,
	state: 'open',
	pausedUntil: NOW + 500,
	reason: 'circuit-open',
	failedProbes: 2,
	delayMs: 500,
	version: 3,
}

const CHANGE: CircuitChange = {
	destination: 'a',
	version: 3,
	state: 'half-open',
	pausedForMs: 200,
	reason: 'probe',
	failedProbes: 2,
	delayMs: 500,
}

const ADA = { destination: 'a', by: 'ada@ops', reason: 'deploy' }

const changed = (before: CircuitRecord, change: OperatorChange, now = NOW): CircuitRecord => {
	const after = applyOperatorChange(before, change, now)
	if (after === undefined) throw new Error('nothing was changed')
	return after
}

const paused = (forMs: number, before: CircuitRecord = NO_CIRCUIT) =>
	changed(before, { ...ADA, action: 'pause', forMs })

describe('admitsClaim', () => {
	test('admits all claims while the circuit is closed, and only probes otherwise', () => {
		expect(admitsClaim(NO_CIRCUIT, false, NOW)).toBe(true)
		for (const state of ['open', 'half-open'] as const) {
			expect(admitsClaim({ ...OPEN, state }, false, NOW)).toBe(false)
			expect(admitsClaim({ ...OPEN, state }, true, NOW)).toBe(true)
		}
	})

	test('keeps an open circuit open after its time, until a relay changes it', () => {
		expect(admitsClaim(OPEN, false, NOW + 501)).toBe(false)
	})

	test('admits claims again at the end of a Retry-After', () => {
		const record = applyPause(NO_CIRCUIT, 100, 'retry-after', NOW) ?? NO_CIRCUIT
		expect(admitsClaim(record, false, NOW + 99)).toBe(false)
		expect(admitsClaim(record, false, NOW + 100)).toBe(true)
	})

	test('admits no probe during a pause of an operator', () => {
		expect(admitsClaim(paused(100), true, NOW + 99)).toBe(false)
		expect(admitsClaim(paused(100), true, NOW + 100)).toBe(true)
	})
})

describe('applyChange', () => {
	test('applies only a change of the same version, and increments the version', () => {
		expect(applyChange(OPEN, CHANGE, NOW)).toMatchObject({ state: 'half-open', version: 4 })
		for (const version of [0, 2, 4]) expect(applyChange(OPEN, { ...CHANGE, version }, NOW)).toBeUndefined()
	})

	test('rounds the end of the open time up, and stores none without a time', () => {
		expect(applyChange(OPEN, { ...CHANGE, pausedForMs: 0.2 }, NOW)?.pausedUntil).toBe(NOW + 1)
		expect(applyChange(OPEN, { ...CHANGE, pausedForMs: 0 }, NOW)?.pausedUntil).toBeNull()
	})

	test('records when an outage ends, and keeps the time while the circuit stays closed', () => {
		const close: CircuitChange = { ...CHANGE, state: 'closed', pausedForMs: 0, reason: null }
		const closed = applyChange(OPEN, close, NOW)
		expect(closed?.closedAt).toBe(NOW)
		if (!closed) throw new Error('the change was not applied')
		expect(applyChange(closed, { ...close, version: 4 }, NOW + 900)?.closedAt).toBe(NOW)
	})

	test('leaves the pause of an operator as it is', () => {
		const before = paused(Infinity, OPEN)
		const after = applyChange(before, { ...CHANGE, version: before.version }, NOW)
		expect(after?.operatorPause).toEqual(before.operatorPause)
	})
})

describe('applyPause', () => {
	test('replaces a shorter pause, but not a longer one', () => {
		expect(applyPause(OPEN, 501, 'retry-after', NOW)?.pausedUntil).toBe(NOW + 501)
		for (const forMs of [500, 100, 0, -1]) expect(applyPause(OPEN, forMs, 'retry-after', NOW)).toBeUndefined()
	})

	test('leaves the state of the circuit as it is', () => {
		const after = applyPause(OPEN, 900, 'retry-after', NOW)
		expect(after).toMatchObject({ state: 'open', failedProbes: 2, delayMs: 500, version: 4 })
	})
})

describe('applyOperatorChange', () => {
	test('stores a pause without an end as the last time of a Date', () => {
		expect(paused(Infinity).operatorPause).toEqual({
			by: 'ada@ops',
			reason: 'deploy',
			pausedAt: NOW,
			until: MAX_TIME,
		})
		expect(toCircuit('a', paused(Infinity), NOW + 1_000).pausedForMs).toBe(Infinity)
	})

	test('resumes only a pause that is active, and starts a ramp-up', () => {
		const resume = { ...ADA, action: 'resume' } as const
		expect(changed(paused(100), resume)).toMatchObject({ operatorPause: null, closedAt: NOW, version: 2 })
		expect(applyOperatorChange(paused(100), resume, NOW + 100)).toBeUndefined()
		expect(applyOperatorChange(OPEN, resume, NOW)).toBeUndefined()
	})

	test('closes only a circuit that blocks claims, and keeps the pause of an operator', () => {
		const close = { ...ADA, action: 'close-circuit' } as const
		const before = paused(100, OPEN)
		const after = changed(before, close)
		expect(after).toMatchObject({ state: 'closed', pausedUntil: null, failedProbes: 0, delayMs: 0 })
		expect(after.operatorPause).toEqual(before.operatorPause)
		expect(applyOperatorChange(NO_CIRCUIT, close, NOW)).toBeUndefined()
	})
})

describe('toCircuit', () => {
	test('returns the time that is left, and never less than 0', () => {
		expect(toCircuit('a', OPEN, NOW).pausedForMs).toBe(500)
		expect(toCircuit('a', OPEN, NOW + 900)).toMatchObject({ pausedForMs: 0, state: 'open', closedAgoMs: 400 })
	})

	test('names the operator as the reason while its pause is active, whatever else blocks the destination', () => {
		expect(toCircuit('a', paused(100, OPEN), NOW)).toMatchObject({ reason: 'operator', pausedForMs: 500 })
		const after = toCircuit('a', paused(100, OPEN), NOW + 100)
		expect(after).toMatchObject({ reason: 'circuit-open', operatorPause: null, pausedForMs: 400 })
	})

	test('has no time since the end of an outage before the first one', () => {
		expect(toCircuit('a', NO_CIRCUIT, NOW).closedAgoMs).toBeNull()
		expect(toCircuit('a', OPEN, NOW).closedAgoMs).toBe(0)
	})
})
