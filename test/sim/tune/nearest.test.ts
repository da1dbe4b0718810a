import { describe, expect, it } from 'vitest'
import { replicate, type SimulationResult, simulate, tune } from 'yaoki/sim'
import type { TuneConstraints } from '../../../src/sim/tune/constraints.ts'
import { findViolations, relativeGap } from '../../../src/sim/tune/constraints.ts'
import { setup } from '../setup.ts'
import { chain, storm, stormOptions } from './storm.ts'

describe('the distance to a limit', () => {
	it.each([
		[100, 100, 0],
		[200, 100, 0.5],
		[50, 100, 0.5],
		[1e9, 1, 1 - 1e-9],
		[5, 0, 1],
		[0, 5, 1],
		[0, 0, 0],
		[null, 100, 1],
	])('of %d to %d is %d', (actual, limit, expected) => {
		expect(relativeGap(actual, limit)).toBe(expected)
	})

	const run = simulate({ ...chain, durationMs: 1_500 })
	const violations = (constraints: TuneConstraints, result: SimulationResult = run) =>
		findViolations(constraints, result)

	it('is of every violated constraint, in their order', () => {
		const found = violations({
			amplification: { atMost: 0.5 },
			goodShare: { atLeast: 0 },
			p99Ms: { below: 1 },
		})
		expect(found.map(({ measure }) => measure)).toEqual(['amplification', 'p99Ms'])
		const actual = run.totals.amplification
		expect(found[0]).toEqual({
			measure: 'amplification',
			actual,
			recovery: 'not-shown',
			limit: { atMost: 0.5 },
			seed: 1,
			scenario: 0,
			reason: 'limit',
			distance: 1 - 0.5 / actual,
		})
	})

	it('is to the limit that is further away, if both are violated', () => {
		const actual = run.totals.amplification
		const [found] = violations({ amplification: { atLeast: 8, above: 4 } })
		expect(found?.distance).toBe(1 - actual / 8)
	})

	it.each(['below', 'above'])('is 0 and still a violation at the limit itself for %s', (strict) => {
		const actual = run.totals.amplification
		expect(violations({ amplification: { [strict]: actual } })).toMatchObject([
			{ distance: 0, reason: 'limit' },
		])
		expect(violations({ amplification: { atMost: actual, atLeast: actual } })).toEqual([])
	})

	it('is 1 for a run without a fault that could recover, and for a run that was cut short', () => {
		const calm = simulate(setup())
		expect(violations({ recoveredAfterMs: { atLeast: 0 } }, calm)).toMatchObject([
			{ actual: null, distance: 1, reason: 'no-value' },
		])
		const cut = simulate({ ...chain, maxEvents: 100 })
		expect(violations({ amplification: { atMost: 100 } }, cut)).toMatchObject([
			{ distance: 1, reason: 'event-limit' },
		])
	})
})

describe('the nearest miss', () => {
	const constraints = { goodShare: { atLeast: 0.9 }, p99Ms: { atMost: 700 }, amplification: { atMost: 1.8 } }
	const result = tune('client', storm, { ...stormOptions, constraints, replications: 2, maxSteps: 30 })
	const { nearest } = result

	it('is given if no policy satisfies all constraints', () => {
		expect(result.survives).toBe(false)
		expect(nearest?.changes.length).toBeGreaterThan(0)
		expect(tune('client', storm, { ...stormOptions, replications: 1 }).nearest).toBeUndefined()
	})

	it('has all runs of its policy, and the violation with the largest distance among them', () => {
		const again = replicate(
			{ ...storm, policies: { client: nearest?.policies['client'] ?? [] } },
			{ replications: 2 },
		)
		expect(nearest?.after).toEqual(again)
		const all = again.runs.flatMap((run) => findViolations(constraints, run))
		const worst = Math.max(...all.map(({ distance }) => distance))
		expect(nearest?.violation).toEqual(all.find(({ distance }) => distance === worst))
	})

	it('is nearer than the original policy and every policy that was tried', () => {
		const distance = nearest?.violation.distance ?? 1
		const before = result.before.runs.flatMap((run) => findViolations(constraints, run))
		expect(distance).toBeLessThan(Math.max(...before.map((one) => one.distance)))
		// The first violation of a step is at most its largest, which is only known for the nearest.
		const { steps } = result
		expect(steps.length).toBe(30)
		expect(steps.filter(({ violation }) => (violation?.distance ?? 0) < distance).length).toBeLessThan(5)
	})

	it('is the original policy if no change comes closer', () => {
		const impossible = tune('toWeb', chain, {
			constraints: { offeredPerSecond: { atLeast: 1e6 } },
			replications: 1,
			maxSteps: 3,
		})
		expect(impossible.nearest).toMatchObject({
			changes: [],
			size: 0,
			policies: { toWeb: chain.policies?.['toWeb'] },
			violation: { measure: 'offeredPerSecond' },
		})
	})
})
