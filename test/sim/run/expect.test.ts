import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from 'yaoki'
import { expectResilience, replicate, simulate } from 'yaoki/sim'
import { every, setup } from '../setup.ts'

const outage = { kind: 'outage', fromMs: 1_000, toMs: 2_000 } as const
const steady = { arrivals: { kind: 'constant', perSecond: 50 } } as const
const recovering = setup({ api: { faults: [outage] }, web: steady, rest: { durationMs: 10_000, seed: 3 } })
const hung = setup({
	api: { faults: [{ ...outage, mode: 'hang' }] },
	web: steady,
	rest: { durationMs: 10_000 },
})

const messageOf = (act: () => unknown): string => {
	try {
		act()
	} catch (error) {
		return error instanceof Error ? error.message : String(error)
	}
	return 'it holds'
}

describe('an expectation of a run', () => {
	const result = simulate(recovering)

	it('can be chained, or throws', () => {
		expectResilience(result)
			.toRecoverWithin(10)
			.amplificationBelow(1.1)
			.goodShareAbove(0.89)
			.wastedShareBelow(0.1)
			.p99Below(11)
			.peakBelow(61)
			.measure('retries', '<=', 0)
			.measure('requests', '>=', 500)
	})

	it.each([
		['recoveredAfterMs: expected <= 9, got 10 (seed 3)', () => expectResilience(result).toRecoverWithin(9)],
		['amplification: expected < 1, got 1 (seed 3)', () => expectResilience(result).amplificationBelow(1)],
		['goodShare: expected > 0.9, got 0.9 (seed 3)', () => expectResilience(result).goodShareAbove(0.9)],
		['wastedShare: expected < 0, got 0 (seed 3)', () => expectResilience(result).wastedShareBelow(0)],
		['p99Ms: expected < 10, got 10 (seed 3)', () => expectResilience(result).p99Below(10)],
		['peakPerSecond: expected < 50, got 50 (seed 3)', () => expectResilience(result).peakBelow(50)],
		[
			'requests: expected > 500, got 500 (seed 3)',
			() => expectResilience(result).measure('requests', '>', 500),
		],
	])('%s', (message, act) => {
		expect(messageOf(act)).toBe(message)
	})

	it('reports that no call started after the fault', () => {
		const web = { arrivals: { kind: 'constant', perSecond: 50, toMs: 1_500 } } as const
		const quiet = setup({ api: { faults: [outage] }, web, rest: { durationMs: 10_000 } })
		expect(messageOf(() => expectResilience(simulate(quiet)).toRecoverWithin(1e6))).toBe(
			'recoveredAfterMs: expected <= 1000000, got not shown, because no call started after the fault (seed 1)',
		)
	})

	it('reports that a run does not recover', () => {
		expect(messageOf(() => expectResilience(simulate(hung)).toRecoverWithin(1e6))).toBe(
			'recoveredAfterMs: expected <= 1000000, got not recovered when the run ended, 8000 ms after the fault (seed 1)',
		)
		expectResilience(result).toRecoverWithin(Infinity)
	})

	it('reports that a run ended too soon to show a recovery', () => {
		const short = simulate({ ...recovering, durationMs: 5_000 })
		expect(messageOf(() => expectResilience(short).toRecoverWithin(1e6))).toBe(
			'recoveredAfterMs: expected <= 1000000, got not shown, because the run ended too soon, 3000 ms after the fault (seed 3)',
		)
		expect(() => expectResilience(short).toRecoverWithin(5)).toThrow(
			expect.objectContaining({ actual: null, recovery: 'not-shown' }),
		)
	})

	it('reports that a run had no fault', () => {
		expect(messageOf(() => expectResilience(simulate(setup())).toRecoverWithin(5))).toBe(
			'recoveredAfterMs: expected <= 5, got no fault that ended during the run (seed 1)',
		)
	})

	it('has no latency if no call succeeded', () => {
		const dead = setup({ api: { faults: [{ ...outage, fromMs: 0 }] } })
		expect(messageOf(() => expectResilience(simulate(dead)).p99Below(1_000))).toBe(
			'p99Ms: expected < 1000, got no value (seed 1)',
		)
	})

	it('fails for a run that reached its event limit', () => {
		const cut = simulate({ ...recovering, maxEvents: 100 })
		expect(messageOf(() => expectResilience(cut).amplificationBelow(9))).toBe(
			'amplification: expected < 9, got 0.970588 when the run reached its event limit (seed 3)',
		)
	})

	it('throws an error with the measure and the seed', () => {
		const expectation = expectResilience(simulate(hung))
		expect(() => expectation.toRecoverWithin(5)).toThrow(
			expect.objectContaining({
				name: 'ResilienceError',
				code: 'YAOKI_RESILIENCE',
				measure: 'recoveredAfterMs',
				actual: null,
				recovery: 'not-recovered',
				seed: 1,
			}),
		)
	})
})

describe('an expectation of several runs', () => {
	const shaky = setup({
		api: { faults: [{ kind: 'errors', rate: 0.5, fromMs: 0, toMs: 1e6 }] },
		web: { arrivals: every(20, 100) },
		rest: { seed: 10 },
	})

	it('must hold in every run, and reports the first that fails', () => {
		const runs = replicate(shaky, { replications: 8 })
		const shares = runs.runs.map(({ totals }) => totals.goodShare)
		const least = Math.min(...shares)
		const seed = 10 + shares.indexOf(least)
		expect(messageOf(() => expectResilience(runs).goodShareAbove(least))).toBe(
			`goodShare: expected > ${least}, got ${least} (seed ${seed})`,
		)
		expectResilience(runs).measure('goodShare', '>=', least)
	})
})

describe('an invalid expectation', () => {
	const expectation = expectResilience(simulate(setup()))

	it.each([
		['limit of recoveredAfterMs', () => expectation.toRecoverWithin(NaN)],
		['a non-negative number', () => expectation.amplificationBelow(-1)],
		['limit of goodShare', () => expectation.goodShareAbove('0.9' as never)],
		["'goodShare' or", () => expectation.measure('speed' as never, '<', 1)],
		["'<' or '<=' or", () => expectation.measure('p99Ms', '==' as never, 1)],
		['a result of simulate, replicate or replayIncident', () => expectResilience(undefined as never)],
		['result', () => expectResilience({ runs: [] } as never)],
	])('is rejected: %s', (message, act) => {
		expect(act).toThrow(InvalidArgumentError)
		expect(messageOf(act)).toContain(message)
	})
})
