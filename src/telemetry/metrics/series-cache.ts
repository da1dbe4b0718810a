import type { MetricSet } from './metric-set.ts'
import type { Counter, Family, Histogram } from './series.ts'

/** Keeps the series of a service or destination together: recording a value needs one lookup. */
export class SeriesCache<Bundle> {
	readonly #maxSize: number
	readonly #createOverflow: () => Bundle
	readonly #bundles = new Map<string, Bundle>()
	#lastKey: string | undefined
	#last: Bundle | undefined
	#overflow: Bundle | undefined

	/** `createOverflow` creates the bundle of all keys beyond `maxSize`. */
	constructor(maxSize: number, createOverflow: () => Bundle) {
		this.#maxSize = maxSize
		this.#createOverflow = createOverflow
	}

	get(key: string, create: (key: string) => Bundle): Bundle {
		// Most sources have one key.
		if (key === this.#lastKey) return this.#last as Bundle
		const bundle = this.#bundles.get(key) ?? this.#add(key, create)
		this.#lastKey = key
		this.#last = bundle
		return bundle
	}

	#add(key: string, create: (key: string) => Bundle): Bundle {
		if (this.#bundles.size >= this.#maxSize) {
			this.#overflow ??= this.#createOverflow()
			return this.#overflow
		}
		const bundle = create(key)
		this.#bundles.set(key, bundle)
		return bundle
	}
}

/** The series that have the same first labels. Without labels: the series of what exceeds `maxSeries`. */
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
