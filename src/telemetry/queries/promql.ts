/**
 * Writes PromQL for the metrics of the catalog. Names and labels are checked when a query is written, because
 * a dashboard with a metric that was renamed shows no error: it shows an empty panel, and an alert never
 * fires.
 */
import { METRICS, type MetricType } from '../metrics/catalog.ts'

/** The label values and the time that a query selects. */
export interface Scope {
	/** Label values of all selectors, as regular expressions: `{ service: '$service' }`. */
	readonly where: Readonly<Record<string, string>>
	/** A duration, or a variable of Grafana. */
	readonly window: string
}

/** The series of one metric. */
export interface Selection {
	readonly metric: string
	/** Labels that the result keeps besides `job` and `service`. */
	readonly by?: readonly string[]
	/** Label values to select. `a|b` selects both. */
	readonly where?: Readonly<Record<string, string>>
	/** A label value to leave out. */
	readonly whereNot?: Readonly<Record<string, string>>
}

/** Increments per second. */
export const rate = (selection: Selection, scope: Scope): string =>
	`sum by (${labels(selection)}) (rate(${select(selection, scope, 'counter')}[${scope.window}]))`

/** A series that was missing for this long is new. Covers a restart and a few failed scrapes. */
const MISSING_BEFORE = '1h'

/**
 * The increase of a counter. A series appears with its first event, and `increase` misses that first
 * value; here a new series counts from zero, so that the first dead letter is a dead letter: its highest
 * value is exact, while `increase` extrapolates. A new series may have been reset within the window: a
 * process that crashes again and again. Then its increase is added to its lowest value, because its highest
 * value would miss what was before the reset.
 */
export function increase(selection: Selection, scope: Scope): string {
	const series = select(selection, scope, 'counter')
	const [recent, before] = [`${series}[${scope.window}]`, seriesBefore(series, scope)]
	const added = `(max_over_time(${recent}) unless resets(${recent}) > 0 or increase(${recent}) + min_over_time(${recent}))`
	return `sum by (${labels(selection)}) ((${added} unless ${before}) or increase(${recent}))`
}

/**
 * The number of events that a counter has counted in a step of a graph: `scope.window` is the distance between two
 * values. An event is in exactly one step. `increase` counts the difference between the first and the last
 * sample of its window, so it needs windows that overlap, and then one event is in several steps. Here it is
 * the last value minus the last value before the step; a new series counts from zero. A restart within a step
 * is never counted twice: the value since the restart, and what was added before it if the highest value
 * shows that.
 */
export function eventsInStep(selection: Selection, scope: Scope): string {
	const series = select(selection, scope, 'counter')
	const [recent, before] = [`${series}[${scope.window}]`, seriesBefore(series, scope)]
	const [last, highest] = [`last_over_time(${recent})`, `max_over_time(${recent})`]
	const known = `(${before} or 0 * ${last})`
	const withoutRestart = `${last} - ${known} >= 0 unless resets(${recent}) > 0`
	const withRestart = `${last} + clamp_min(${highest} - ${known}, 0) * (${highest} > bool ${last})`
	return `sum by (${labels(selection)}) ((${withoutRestart}) or (${withRestart}))`
}

const seriesBefore = (series: string, { window }: Scope): string =>
	`last_over_time(${series}[${MISSING_BEFORE}] offset ${window})`

/**
 * The difference of a gauge to its value before the window, from a store that survives restarts. A series that did
 * not exist counts from zero if `witness`, a gauge that always exists, was there: otherwise nothing is known
 * about the time before.
 */
export function growth(selection: Selection, witness: Selection, scope: Scope): string {
	const now = gauge(selection, scope)
	const maxBefore = (one: Selection): string =>
		`max by (${labels(one)}) (${seriesBefore(select(one, scope, 'gauge'), scope)})`
	const [before, known] = [maxBefore(selection), maxBefore(witness)]
	return `${now} - (${before} or 0 * ${now} and on (${labels(witness)}) ${known})`
}

/**
 * A gauge of several processes, combined as the catalog says: slots of a bulkhead are added; what every
 * process reads from one database is not, because the sum would count it several times.
 */
export function gauge(selection: Selection, scope: Scope): string {
	const series = select(selection, scope, 'gauge')
	const by = `by (${labels(selection)})`
	const combination = METRICS[selection.metric]?.combination ?? 'sum'
	if (combination !== 'worst') return `${combination} ${by} (${series})`
	// 1 is open and 2 half-open, so the lowest of those above 0 is the worst.
	return `(min ${by} (${series} > 0) or max ${by} (${series}))`
}

/** A quantile of a histogram, such as 0.99. */
export function quantile(share: number, selection: Selection, scope: Scope): string {
	const buckets = select(selection, scope, 'histogram', '_bucket')
	return `histogram_quantile(${share}, sum by (le, ${labels(selection)}) (rate(${buckets}[${scope.window}])))`
}

/** The median and the 99th percentile of a histogram; `name` is the beginning of their legends. */
export const medianAndP99 = (
	selection: Selection,
	scope: Scope,
	name: string = '{{service}}',
): Readonly<Record<string, string>> => ({
	[`${name} p50`]: quantile(0.5, selection, scope),
	[`${name} p99`]: quantile(0.99, selection, scope),
})

/** A quotient; no result where the divisor is 0, instead of NaN. */
export const ratio = (part: string, whole: string): string => `${part}\n/ (${whole} > 0)`

/** The sum over all labels. */
export const total = (expression: string): string => `sum(${expression})`

/** Several expressions as one, each with its name in the label `kind`. */
export const named = (expressions: Readonly<Record<string, string>>): string =>
	Object.entries(expressions)
		.map(([name, expression]) => `label_replace(${expression}, "kind", "${name}", "", "")`)
		.join('\nor ')

function select(
	{ metric, where = {}, whereNot = {} }: Selection,
	scope: Scope,
	type: MetricType,
	suffix = '',
): string {
	const definition = definitionOf(metric)
	if (definition.type !== type) throw new Error(`${metric} is a ${definition.type}, not a ${type}`)
	const everywhere = Object.entries(scope.where)
		.filter(([label]) => label === 'job' || definition.labels.includes(label))
		.map(([label, value]) => `${label}=~"${value}"`)
	for (const label of [...Object.keys(where), ...Object.keys(whereNot)])
		if (!definition.labels.includes(label)) throw new Error(`${metric} has no label ${label}`)
	const own = Object.entries(where).map(([label, value]) =>
		value.includes('|') ? `${label}=~"${value}"` : `${label}="${value}"`,
	)
	const excluded = Object.entries(whereNot).map(([label, value]) => `${label}!="${value}"`)
	const all = [...everywhere, ...own, ...excluded].join(', ')
	return all === '' ? `${metric}${suffix}` : `${metric}${suffix}{${all}}`
}

function labels({ metric, by = [] }: Selection): string {
	const definition = definitionOf(metric)
	for (const label of by)
		if (!definition.labels.includes(label)) throw new Error(`${metric} has no label ${label}`)
	const service = definition.labels.includes('service') ? ['service'] : []
	return ['job', ...service, ...by].join(', ')
}

function definitionOf(metric: string) {
	const definition = METRICS[metric]
	if (!definition) throw new Error(`${metric} is not a metric of the catalog`)
	return definition
}
