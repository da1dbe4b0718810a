import { describe, expect, it } from 'vitest'
import type { Scenario, SimulationResult, VariantStudy } from 'yaoki/sim'
import { runStudy, type StudyResult, toHTML, toText } from 'yaoki/sim/report'
import type { RunRecovery } from '../../../src/sim/measure/result.ts'
import { formatRecovery, measuresTable } from '../../../src/sim/report/measures-table.ts'

const scenario: Scenario = {
	durationMs: 12_000,
	services: {
		api: { workers: 2, serviceTimeMs: 20, faults: [{ kind: 'outage', fromMs: 2_000, toMs: 4_000 }] },
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 40 } } },
}
const study: VariantStudy = { title: 'Outage', variants: { plain: scenario } }

/** Replaces the recovery of each run. */
const withRecoveries = (
	result: StudyResult,
	...recoveredAfterMs: readonly (number | null | 'none')[]
): StudyResult => ({
	...result,
	cases: result.cases.map(({ case: one, runs }) => ({
		case: one,
		runs: runs.map((run, index) => ({ ...run, recovery: recoveryOf(recoveredAfterMs[index]) })),
	})),
})
const recoveryOf = (ms: number | null | 'none' = null): RunRecovery | null =>
	ms === 'none'
		? null
		: {
				status: ms === null ? 'not-recovered' : 'recovered',
				faults: [],
				heldForMs: null,
				faultEndedAtMs: 4_000,
				healthyAfterMs: ms,
				drainedAfterMs: 0,
				recoveredAfterMs: ms,
				callsAfter: 1,
			}

const cells = (
	result: StudyResult,
): Readonly<Record<string, Readonly<Record<string, string | number | undefined>>>> => {
	const { head = [], rows } = measuresTable(result).table
	return Object.fromEntries(
		rows.map(([name, ...figures]) => [
			name,
			Object.fromEntries(figures.map((figure, index) => [head[index + 1], figure])),
		]),
	)
}

describe('the sign ±', () => {
	const sentence = (runs: string) =>
		`±: half the width of the 95 % confidence interval of the mean over ${runs} runs.`

	it('is explained below the table, with the number of runs', () => {
		const result = runStudy(study, { replications: 3 })
		const lines = toText(result).split('\n')
		const last = lines.findLastIndex((line) => line.startsWith('plain '))
		expect(lines[last]).toContain(' ±')
		expect(lines[last + 1]).toBe(sentence('3'))
		expect(toHTML(result)).toContain(`<figcaption>Means. ${sentence('3')}</figcaption>`)
		expect(toText(result, { columns: 30 })).toMatch(/^±: half the width of the 95 %\nconfidence/m)
	})

	it('is explained with a range if an interrupted study has fewer runs of a variant', () => {
		const result = runStudy({ ...study, variants: { one: scenario, two: scenario } }, { replications: 3 })
		const [one, two] = result.cases
		if (!one || !two) throw new Error('expected two cases')
		const interrupted = { ...result, cases: [one, { ...two, runs: two.runs.slice(0, 2) }] }
		expect(measuresTable(interrupted).notes).toContain(sentence('2 to 3'))
	})

	it('does not appear with a single run, and the report says why', () => {
		const result = runStudy(study, { replications: 1 })
		const note = 'One run each, so there is no confidence interval (±).'
		expect(measuresTable(result).notes).toContain(note)
		for (const report of [toText(result), toHTML(result)]) {
			expect(report).toContain(note)
			expect(report).not.toContain(' ±')
		}
	})

	it('is not explained where all runs have the same values', () => {
		const steady: Scenario = {
			durationMs: 1_000,
			services: { api: { serviceTimeMs: 1 } },
			clients: { web: { to: 'api', arrivals: { kind: 'constant', perSecond: 10 } } },
		}
		const result = runStudy(
			{ title: 'Steady', measures: ['requests'], variants: { steady } },
			{ replications: 2 },
		)
		expect(measuresTable(result).notes).toEqual([])
	})
})

describe('the recovery of several runs', () => {
	const result = runStudy(study, { replications: 3 })
	const recovery = (...ms: readonly (number | null | 'none')[]) =>
		cells(withRecoveries(result, ...ms))['plain']?.['recovery']

	it('is a mean if all recovered', () => {
		expect(recovery(2_000, 2_000, 2_000)).toBe('2.00 s')
		expect(recovery(1_000, 2_000, 3_000)).toMatch(/^2\.00 s ±\d/)
	})

	it('says how many recovered, if not all did', () => {
		expect(recovery(2_000, null, null)).toBe('2.00 s in 1 of 3 runs')
		expect(recovery(2_000, null, 'none')).toBe('2.00 s in 1 of 3 runs, not shown in 1')
		expect(measuresTable(withRecoveries(result, 2_000, null, 2_000)).notes).toContain(
			'Recovery: the mean over the runs that recovered.',
		)
	})

	it('is "not recovered" or "not shown" if none did', () => {
		expect(recovery(null, null, null)).toBe('not recovered')
		expect(recovery(null, null, 'none')).toBe('not recovered, not shown in 1')
		expect(recovery('none', 'none', 'none')).toBe('not shown')
	})

	it('is "not shown", instead of "never", for a run that ends before its fault', () => {
		const short = runStudy(
			{ ...study, variants: { short: { ...scenario, durationMs: 3_000 } } },
			{ replications: 2 },
		)
		expect(cells(short)['short']?.['recovery']).toBe('not shown')
		expect(toText(short)).toContain(
			'Not shown: the run ended too soon to tell, or no call started after the fault.',
		)
	})

	it('is reported although the study selects other measures, if a run did not recover', () => {
		const selected = { ...result, study: { ...study, measures: ['requests'] } as const }
		expect(measuresTable(withRecoveries(selected, 1, 2, 3)).table.head).toEqual(['', 'requests'])
		expect(measuresTable(withRecoveries(selected, 1, 2, null)).table.head).toEqual([
			'',
			'requests',
			'recovery',
		])
	})

	it('is empty without a fault', () => {
		expect(formatRecovery([])).toBe('')
	})
})

it('shows - for a latency without a success', () => {
	const down: Scenario = {
		...scenario,
		services: { api: { serviceTimeMs: 20, faults: [{ kind: 'outage', fromMs: 0, toMs: 11_000 }] } },
		clients: { web: { to: 'api', arrivals: { kind: 'constant', perSecond: 4, toMs: 10_000 } } },
	}
	const result = runStudy(
		{ title: 'Down', measures: ['goodShare', 'p99Ms'], variants: { down } },
		{ replications: 2 },
	)
	expect(cells(result)['down']).toMatchObject({ good: '0.0 %', p99: '-' })
	expect(toText(result)).toContain('-: no run has a value.')
})

describe('several clients', () => {
	const clients: Scenario['clients'] = {
		web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 40 } },
		batch: { to: 'api', arrivals: { kind: 'constant', perSecond: 5, fromMs: 2_000, toMs: 4_000 } },
	}
	const result = runStudy({ ...study, variants: { both: { ...scenario, clients } } }, { replications: 2 })

	it('have a row each, so that totals hide no client', () => {
		const rows = cells(result)
		expect(Object.keys(rows)).toEqual(['both', 'both (web)', 'both (batch)'])
		expect(rows['both (web)']?.['good']).toMatch(/^8\d\.\d %/)
		// It calls only during the outage.
		expect(rows['both (batch)']).toMatchObject({ good: '0.0 %', amplification: '', p99: '-' })
		expect(toText(result)).toMatch(/^both \(batch\) +0\.0 %/m)
		expect(toHTML(result)).toContain('both (batch)')
	})

	it('have their own recovery as soon as runs contain it', () => {
		const withRecovery = (run: SimulationResult): SimulationResult => {
			const { web, batch } = run.clients
			const recovered = { ...web, recovery: recoveryOf(1_500) }
			return {
				...run,
				clients: { web: recovered, batch: { ...batch, recovery: recoveryOf(null) } } as typeof run.clients,
			}
		}
		const cases = result.cases.map(({ case: one, runs }) => ({ case: one, runs: runs.map(withRecovery) }))
		const rows = cells({ ...result, cases })
		expect(rows['both (web)']?.['recovery']).toBe('1.50 s')
		expect(rows['both (batch)']?.['recovery']).toBe('not recovered')
	})

	it('have no rows of their own if there is one', () => {
		expect(Object.keys(cells(runStudy(study, { replications: 1 })))).toEqual(['plain'])
	})
})
