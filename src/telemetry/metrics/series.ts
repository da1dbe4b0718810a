/**
 * Counters and histograms in bounded memory. A metric has at most `maxSeries` series; what exceeds them is
 * added to series whose service, destination and topic are `other`, so that sums and ratios stay right.
 * Evicting old series instead would reset counters, which rates show as activity.
 */
import type { Admission } from './admission.ts'
import { OTHER, overflowLabels, unboundedLabels } from './catalog.ts'

/** One series of a counter. */
export class Counter {
	readonly labels: readonly string[]
	value = 0

	constructor(labels: readonly string[]) {
		this.labels = labels
	}

	add(amount: number): void {
		this.value += amount
	}

	reset(): void {
		this.value = 0
	}
}

/** One series of a histogram. Typed arrays, because a sum in a field is a new object for each value. */
export class Histogram {
	readonly labels: readonly string[]
	readonly bounds: readonly number[]
	/** Values per bucket, not cumulative; the last element counts values above all bounds. */
	readonly counts: Float64Array
	readonly #sum = new Float64Array(1)

	constructor(labels: readonly string[], bounds: readonly number[]) {
		this.labels = labels
		this.bounds = bounds
		this.counts = new Float64Array(bounds.length + 1)
	}

	get sum(): number {
		return this.#sum[0] as number
	}

	record(value: number): void {
		const { bounds, counts } = this
		// The comparison is false for NaN, which would make the sum useless permanently.
		const amount = value > 0 ? value : 0
		let index = 0
		while (index < bounds.length && amount > (bounds[index] as number)) index++
		counts[index] = (counts[index] as number) + 1
		this.#sum[0] = (this.#sum[0] as number) + amount
	}

	reset(): void {
		this.counts.fill(0)
		this.#sum[0] = 0
	}
}

/** What callers get instead of the series `other`: adds to that series, and counts the overflow. */
export class OverflowCounter extends Counter {
	readonly #other: Counter
	readonly #overflows: Counter

	constructor(other: Counter, overflows: Counter) {
		super(other.labels)
		this.#other = other
		this.#overflows = overflows
	}

	override add(amount: number): void {
		this.#other.add(amount)
		this.#overflows.add(1)
	}
}

/** The `OverflowCounter` of a histogram. */
export class OverflowHistogram extends Histogram {
	readonly #other: Histogram
	readonly #overflows: Counter

	constructor(other: Histogram, overflows: Counter) {
		super(other.labels, other.bounds)
		this.#other = other
		this.#overflows = overflows
	}

	override record(value: number): void {
		this.#other.record(value)
		this.#overflows.add(1)
	}
}

/** A status and a method have some hundreds of combinations. User code may use any text as a method. */
const MAX_OVERFLOWS = 1_000

export interface FamilySettings<Series> {
	/** The names of the labels. */
	readonly labels: readonly string[]
	readonly maxSeries: number
	readonly admission: Admission
	/** Creates a series with these label values. */
	create(labels: readonly string[]): Series
	/** Creates what callers get instead of the series `other`. */
	overflowTo(other: Series): Series
}

/** All series of one metric. */
export class Family<Series extends Counter | Histogram> {
	readonly #settings: FamilySettings<Series>
	readonly #unbounded: number
	readonly #series = new Map<string, Series>()
	readonly #overflows = new Map<string, Series>()

	constructor(settings: FamilySettings<Series>) {
		this.#settings = settings
		this.#unbounded = unboundedLabels(settings.labels).length
	}

	series(): MapIterator<Series> {
		return this.#series.values()
	}

	/** Returns the series with these label values, in the order of the metric's labels. You may keep it. */
	get(...values: readonly string[]): Series {
		const labels = values.map(toLabelValue)
		// No label value contains a line break.
		const key = labels.join('\n')
		const known = this.#series.get(key)
		if (known) return known
		const { admission, maxSeries } = this.#settings
		if (this.#series.size >= maxSeries) {
			admission.close()
			return this.#overflow(labels)
		}
		const isAdmitted = this.#unbounded === 0 || admission.admits(labels.slice(0, this.#unbounded))
		return isAdmitted ? this.#create(key, labels) : this.#overflow(labels)
	}

	/** Returns the series for what exceeds `maxSeries`. `last`: the values of the last labels. */
	overflow(...last: readonly string[]): Series {
		const first = this.#settings.labels.slice(last.length).map(() => OTHER)
		return this.#overflow([...first, ...last.map(toLabelValue)])
	}

	#overflow(values: readonly string[]): Series {
		const { labels: names, overflowTo } = this.#settings
		const isFull = this.#overflows.size >= MAX_OVERFLOWS
		const labels = isFull ? names.map(() => OTHER) : overflowLabels(names, values)
		const key = labels.join('\n')
		const known = this.#overflows.get(key)
		if (known) return known
		const series = overflowTo(this.#series.get(key) ?? this.#create(key, labels))
		this.#overflows.set(key, series)
		return series
	}

	reset(): void {
		for (const series of this.#series.values()) series.reset()
	}

	#create(key: string, labels: readonly string[]): Series {
		const series = this.#settings.create(labels)
		this.#series.set(key, series)
		return series
	}
}

/** Longer label values are truncated: each is stored and sent with every scrape. */
const MAX_LENGTH = 200

/** Control characters, unpaired surrogates, line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Returns a value that is safe in every output: on one line, well-formed and at most 200 characters long. */
export function toLabelValue(value: string): string {
	const text = value.length > MAX_LENGTH ? value.slice(0, MAX_LENGTH) : value
	return text.replace(UNSAFE, '\uFFFD')
}
