/** An outcome in rows and columns. */
import { standardErrors } from '../measure/estimate.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import { figure, roughly } from '../picture/figure.ts'
import type { Table } from '../picture/table.ts'
import type { VariantStudy } from '../run/study.ts'
import { writtenEstimate } from './figures.ts'
import { comparedOf, type StudyResult } from './outcome.ts'

const COLUMNS: readonly MeasureName[] = [
	'goodShare',
	'amplification',
	'wastedShare',
	'p99Ms',
	'recoveredAfterMs',
]

/** The figures that a study is about; without a choice of its own, the usual ones that its runs have. */
function measuresOf(outcome: StudyResult): readonly MeasureName[] {
	const chosen = outcome.study.measures
	if (chosen) return chosen
	const hasFaults = outcome.cases.some(({ runs }) => runs.some(({ recovery }) => recovery !== null))
	return COLUMNS.filter((name) => name !== 'recoveredAfterMs' || hasFaults)
}

/** A row for each variant: means, and how far off they may be. */
export function measuresTable(outcome: StudyResult): Table {
	const compared = comparedOf(outcome)
	const measures = measuresOf(outcome)
	const isStuck = compared.some(({ neverRecoveredShare }) => neverRecoveredShare > 0)
	return {
		head: ['', ...measures.map((name) => MEASURES[name].label), ...(isStuck ? ['never recovers'] : [])],
		rows: compared.map((one) => [
			one.name,
			...measures.map((name) => writtenEstimate(name, one.measures[name])),
			...(isStuck ? [`${figure(one.neverRecoveredShare * 100)} % of runs`] : []),
		]),
	}
}

/** Ours beside the published figures, and how far apart they are. */
export function referenceTable(
	outcome: StudyResult,
	reference: NonNullable<VariantStudy['reference']>,
): Table {
	const measures = measuresOf(outcome)
	return {
		head: ['', ...measures.flatMap((name) => [MEASURES[name].label, 'published', 'difference'])],
		rows: comparedOf(outcome).map((one) => [
			one.name,
			...measures.flatMap((name) => {
				const published = reference[one.name]?.[name]
				const ours = one.measures[name]
				if (!published) return [roughly(ours.mean), '', '']
				const errors = standardErrors(ours, published)
				return [
					figure(ours.mean, 1),
					figure(published.mean, 1),
					`${errors < 0 ? '' : '+'}${figure(errors, 1)} SE`,
				]
			}),
		]),
	}
}
