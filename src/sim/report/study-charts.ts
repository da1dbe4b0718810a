/** Charts that are not drawn over time: curves over a number in which variants differ, and heat maps. */
import { invalidOption } from '../../core/options/schema.ts'
import type { TimeChart } from '../charts/chart-data.ts'
import type { HeatMap } from '../charts/heat-map.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import { mergeRuns } from '../measure/replications.ts'
import type { Curves, GridStudy, VariantStudy } from '../run/study.ts'
import type { StudyResult } from './study-result.ts'

export function buildCurves(
	{ cases }: StudyResult,
	study: VariantStudy,
	{ xLabel, measures, points }: Curves,
): TimeChart {
	const known = cases.flatMap(({ case: { name }, runs }) => {
		const point = points[name]
		if (point && !Number.isFinite(point.x))
			invalidOption(`curves.points.${name}.x`, point.x, 'a finite number')
		return point && runs.length > 0 ? [{ ...point, estimates: mergeRuns(runs).measures }] : []
	})
	const x = [...new Set(known.map((point) => point.x))].sort((a, b) => a - b)
	const curves = [...new Set(known.map(({ curve }) => curve))]
	const panelOf = (measure: MeasureName) => {
		const { label, unit } = MEASURES[measure]
		return {
			title: `${label}${unit && `, ${unit}`}`,
			series: curves.map((curve) => {
				const estimates = x.map(
					(at) => known.find((point) => point.curve === curve && point.x === at)?.estimates[measure],
				)
				const valuesOf = (field: 'mean' | 'low' | 'high') => estimates.map((one) => one?.[field] ?? null)
				return {
					name: curve,
					values: valuesOf('mean'),
					range: { low: valuesOf('low'), high: valuesOf('high') },
				}
			}),
		}
	}
	return {
		title: study.title,
		subtitle: 'means with 95 % confidence intervals',
		x,
		xLabel,
		rangeLabel: '95 % confidence',
		scale: 'own',
		panels: measures.map(panelOf),
	}
}

const CELLS: Readonly<Record<NonNullable<GridStudy['cell']>, string>> = {
	recovered: 'runs that recovered',
	goodShare: 'successful calls',
	wastedShare: 'wasted work',
}

export function buildHeatMap({ cases }: StudyResult, study: GridStudy): HeatMap {
	const { x, y, panels, title, cell = 'recovered' } = study
	const labels = ({ values, format = String }: GridStudy['x']) => values.map((value) => format(value))
	const shareAt = (panel: string, down: number, across: number): number | null => {
		const found = cases.find(({ case: one }) => one.name === panel && one.x === across && one.y === down)
		if (!found || found.runs.length === 0) return null
		const { recoveredShare, notShownShare, measures } = mergeRuns(found.runs)
		// Runs that ended too soon to tell are left out: NaN if all did.
		const share = cell === 'recovered' ? recoveredShare / (1 - notShownShare) : measures[cell].mean
		return Number.isNaN(share) ? null : share
	}
	const perCell = `${Math.max(0, ...cases.map(({ runs }) => runs.length))} runs per cell`
	const notShown = cases
		.flatMap(({ runs }) => runs)
		.filter(({ recovery }) => recovery?.status === 'not-shown')
	const leavesOut = cell === 'recovered' && notShown.length > 0
	return {
		title,
		subtitle: leavesOut ? `${perCell}, without ${notShown.length} that ended too soon to tell` : perCell,
		x: labels(x),
		y: labels(y),
		xLabel: x.label,
		yLabel: y.label,
		valueLabel: CELLS[cell],
		unknownLabel: 'not run',
		panels: panels.map((panel) => ({
			title: panel,
			cells: y.values.map((down) => x.values.map((across) => shareAt(panel, down, across))),
		})),
	}
}
