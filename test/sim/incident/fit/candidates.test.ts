import { describe, expect, test } from 'vitest'
import type { SymptomFault } from '../../../../src/sim/incident/detect/detect-faults.ts'
import { Candidates, type Cluster, groupFaults } from '../../../../src/sim/incident/fit/candidates.ts'
import { RecordedAttempts } from '../../../../src/sim/incident/fit/recorded.ts'
import { setup, steadily } from '../setup.ts'

function found(fault: SymptomFault['fault'], symptom: SymptomFault['symptom']): SymptomFault {
	const { fromMs, toMs } = fault
	return {
		fault,
		symptom,
		attempts: 1,
		symptoms: 1,
		failedShare: 0.8,
		isOngoing: false,
		isEndHidden: false,
		startsBetweenMs: [fromMs, fromMs],
		endsBetweenMs: [toMs, toMs],
	}
}

const slow = found({ kind: 'slowdown', factor: 5, fromMs: 10_000, toMs: 20_000 }, 'slow')
const errors = found({ kind: 'errors', rate: 0.4, fromMs: 11_000, toMs: 15_000 }, 'failures')
const cluster: Cluster = { fromMs: 10_000, toMs: 20_000, found: [slow, errors] }

/** No response between 10 s and 15 s. */
const recorded = new RecordedAttempts(
	setup([
		...steadily(0, 10_000, 100, { ms: 20 }),
		...steadily(10_000, 15_000, 100, { ms: 500, outcome: 'timedOut' }),
		...steadily(15_000, 30_000, 100, { ms: 20 }),
	]),
	{ medianMs: 20, meanMs: 20, slowMs: 40 },
)
const candidates = new Candidates(cluster, recorded, 1_000)

describe('groups', () => {
	const at = (fromMs: number, toMs: number) => found({ kind: 'outage', fromMs, toMs }, 'failures')

	test('have faults that are at most two bins apart, in order', () => {
		const groups = groupFaults([at(9_000, 9_500), at(0, 1_000), at(3_000, 4_000), at(2_500, 2_600)], 1_000)
		expect(groups.map(({ fromMs, toMs, found: own }) => [fromMs, toMs, own.length])).toEqual([
			[0, 4_000, 3],
			[9_000, 9_500, 1],
		])
	})

	test('end with the fault that ends last', () => {
		expect(groupFaults([at(0, 5_000), at(1_000, 2_000)], 1_000)).toMatchObject([{ fromMs: 0, toMs: 5_000 }])
	})
})

describe('a candidate', () => {
	const period = { fromMs: 10_000, toMs: 12_000 }

	test('has the detected faults if it is as detected', () => {
		expect(candidates.faultsOf(candidates.create('as detected', cluster))).toEqual([slow.fault, errors.fault])
	})

	test('has only the failures without a slow period, at the rate among attempts with an outcome', () => {
		const faults = candidates.faultsOf(candidates.create('failures only', cluster))
		expect(faults).toEqual([{ ...errors.fault, rate: 0.8 }])
	})

	test('may have been slow or without responses for a part of the time', () => {
		expect(candidates.faultsOf(candidates.create('hang', period)).at(-1)).toEqual({
			kind: 'outage',
			mode: 'hang',
			...period,
		})
		expect(candidates.faultsOf(candidates.create('slowdown', period, 3)).at(-1)).toEqual({
			kind: 'slowdown',
			factor: 3,
			...period,
		})
	})

	test('ends with its last fault', () => {
		expect(candidates.endOf(candidates.create('slowdown', period, 3))).toBe(15_000)
		const longer = { ...candidates.create('slowdown', period, 3), errorsToMs: 18_000 }
		expect(candidates.endOf(longer)).toBe(18_000)
	})
})

describe('the ends that are tried', () => {
	test('are later than a given time, and not after the symptoms', () => {
		const ends = candidates.endsAfter(12_000)
		expect(ends.length).toBeGreaterThan(3)
		expect(Math.min(...ends)).toBeGreaterThan(12_000)
		expect(Math.max(...ends)).toBe(20_000)
		expect(ends).toEqual(ends.toSorted((a, b) => a - b))
	})

	test('include the ends of the detected faults, and the time at which responses came again', () => {
		expect(candidates.endsAfter(0).filter((end) => end === 15_000).length).toBeGreaterThanOrEqual(2)
	})
})
