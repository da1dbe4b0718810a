import type { MetricSet } from './metric-set.ts'
import type { Counter, Family, Histogram } from './series.ts'

/** The series that have the same first labels. Without labels: those of all beyond `maxSeries`. */
export class SeriesGroup {
	readonly #metrics: MetricSet
	readonly #labels: readonly string[] | undefined

	constructor(metrics: MetricSet, labels: readonly string[] | undefined) {
		this.#metrics = metrics
		this.#labels = labels
	}

	counter(name: string, ...labels: readonly string[]): Counter {
		return this.#of(this.#metrics.counter(name), labels)
	}

	histogram(name: string, ...labels: readonly string[]): Histogram {
		return this.#of(this.#metrics.histogram(name), labels)
	}

	#of<Series extends Counter | Histogram>(family: Family<Series>, labels: readonly string[]): Series {
		return this.#labels === undefined ? family.overflow(...labels) : family.get(...this.#labels, ...labels)
	}
}
