/** Which setting matters most, as a short table: one row per setting, with the alternative that has the strongest effect. */
import type { Estimate } from '../../../sim/measure/estimate.ts'
import { MEASURES, type MeasureName } from '../../../sim/measure/measures.ts'
import { estimateText } from '../../../sim/report/measures-table.ts'
import { literal } from '../../../sim/scenario/literal.ts'
import { isSignificant } from '../../../sim/tune/sensitivity.ts'
import type { SettingSensitivity } from '../../../sim/tune/tune-result.ts'
import { sanitizeLine } from '../../../text/sanitize.ts'
import type { Style } from '../../../text/style.ts'
import { formatTable, type Table } from '../../../text/table.ts'

interface SensitivityOptions {
	readonly width: number
	readonly style: Style
	readonly replications: number
}

export function sensitivityText(
	settings: readonly SettingSensitivity[],
	{ width, style, replications }: SensitivityOptions,
): string {
	const title = style.bold('Which setting matters most')
	if (replications < 2)
		return `${title}\nUnknown: a difference needs an interval, and so at least 2 replications.`
	const measures = Object.keys(settings[0]?.alternatives[0]?.differences ?? {}) as MeasureName[]
	const rows = settings.flatMap(({ path, alternatives, strongest }) => {
		// One row per setting, but all measures: what lowers a latency may do so by failing more calls.
		const shown = strongest && alternatives.find(({ to }) => to === strongest.to)
		if (!shown) return []
		return [[path, valueText(shown.to), ...measures.map((name) => effectText(name, shown.differences[name]))]]
	})
	const table: Table = {
		head: ['single change', 'to', ...measures.map((name) => MEASURES[name].label)],
		rows,
	}
	const noise = settings.flatMap(({ path, strongest }) => (strongest ? [] : [path]))
	return [
		`${title}\n`,
		...(rows.length > 0 ? [formatTable(table, { width, style })] : []),
		...(noise.length > 0
			? [`${rows.length > 0 ? '\n' : ''}Within noise: ${sanitizeLine(noise.join(', '))}.`]
			: []),
	].join('\n')
}

/** A whole layer or a budget would make the table unreadable. */
const valueText = (value: unknown): string => (Object(value) === value ? 'added' : literal(value))

function effectText(measure: MeasureName, difference: Estimate | undefined): string {
	if (!difference || !isSignificant(difference)) return 'noise'
	return `${difference.mean > 0 ? '+' : ''}${estimateText(measure, difference)}`
}
