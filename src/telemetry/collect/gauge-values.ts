import { type GaugeCombination, METRICS, overflowLabels } from '../metrics/catalog.ts'
import { toLabelValue } from '../metrics/series.ts'

/** A value of a gauge as it was read, with its label values in the order of the metric's labels. */
export type GaugeReading = readonly [name: string, labels: readonly string[], value: number]

export interface GaugeSeries {
	readonly labels: readonly string[]
	value: number
}

/** Open, half-open, closed. */
const BY_SEVERITY = [1, 2, 0]

const COMBINE: Readonly<Record<GaugeCombination, (a: number, b: number) => number>> = {
	sum: (a, b) => a + b,
	max: Math.max,
	min: Math.min,
	worst: (a, b) => (BY_SEVERITY.indexOf(a) <= BY_SEVERITY.indexOf(b) ? a : b),
}

/** The gauges of one moment. Values of one series are combined as the catalog says. */
export class GaugeValues {
	readonly #maxSeries: number
	readonly #onOverflow: (name: string) => void
	readonly #families = new Map<string, Map<string, GaugeSeries>>()

	/** `onOverflow` is called for every value that exceeds `maxSeries`, with the name of the metric. */
	constructor(maxSeries: number, onOverflow: (name: string) => void) {
		this.#maxSeries = maxSeries
		this.#onOverflow = onOverflow
	}

	add([name, values, value]: GaugeReading): void {
		const family = this.#families.get(name) ?? new Map<string, GaugeSeries>()
		this.#families.set(name, family)
		// A store of the user may return anything, and one exception would end all further scrapes.
		let labels = values.map((text) => toLabelValue(String(text)))
		if (!family.has(labels.join('\n')) && family.size >= this.#maxSeries) {
			labels = [...overflowLabels(METRICS[name]?.labels ?? [], labels)]
			this.#onOverflow(name)
		}
		const key = labels.join('\n')
		const known = family.get(key)
		if (known) known.value = COMBINE[METRICS[name]?.combination ?? 'sum'](known.value, value)
		else family.set(key, { labels, value })
	}

	series(name: string): Iterable<GaugeSeries> {
		return this.#families.get(name)?.values() ?? []
	}
}
