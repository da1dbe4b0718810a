import { describe, expect, it } from 'vitest'
import type { GridStudy, Scenario } from 'yaoki/sim'
import { runStudy, toJSON, toText } from 'yaoki/sim/report'
import { setup } from '../setup.ts'

/** The fault ends after 2 s. Calls that hang never end. */
const scenarioOf = (mode: 'refuse' | 'hang', durationMs: number): Scenario =>
	setup({
		api: { faults: [{ kind: 'outage', mode, fromMs: 1_000, toMs: 2_000 }] },
		web: { arrivals: { kind: 'constant', perSecond: 50 } },
		rest: { durationMs },
	})

describe('a report', () => {
	const result = runStudy(
		{
			title: 'Recovery',
			variants: {
				recovers: scenarioOf('refuse', 9_000),
				hangs: scenarioOf('hang', 9_000),
				short: scenarioOf('refuse', 4_000),
			},
		},
		{ replications: 2 },
	)

	it('distinguishes runs that did not recover from runs that ended too soon', () => {
		const lines = toText(result, { columns: 160 }).split('\n')
		const ends = ['recovers', 'hangs', 'short'].map((name) =>
			lines
				.findLast((line) => line.startsWith(name))
				?.match(/\S+( \S+)?$/)
				?.at(0),
		)
		expect(ends).toEqual([expect.stringMatching(/ms$/), 'not recovered', 'not shown'])
		expect(lines).toContain('Not shown: the run ended too soon to tell, or no call started after the fault.')
	})

	it('has the shares as data', () => {
		expect(toJSON(result)).toMatchObject({
			cases: [
				{ recoveredShare: 1, neverRecoveredShare: 0, notShownShare: 0 },
				{ recoveredShare: 0, neverRecoveredShare: 1, notShownShare: 0 },
				{ recoveredShare: 0, neverRecoveredShare: 0, notShownShare: 1 },
			],
		})
	})
})

it('a map leaves out runs that ended too soon, and says how many', () => {
	const map: GridStudy = {
		title: 'Map',
		panels: ['one'],
		x: { label: 'length', values: [4_000, 9_000] },
		y: { label: 'hangs', values: [0, 1] },
		at: (durationMs, hangs) => scenarioOf(hangs ? 'hang' : 'refuse', durationMs),
	}
	const text = toText(runStudy(map, { replications: 1 }), { columns: 160 })
	expect(text).toContain('1 runs per cell, without 2 that ended too soon to tell')
	expect(text).toMatch(/1 +- +0 %/)
	expect(text).toMatch(/0 +- +100 %/)
})
