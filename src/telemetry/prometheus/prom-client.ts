/**
 * Registers the metrics in a registry of prom-client. They are not prom-client's own classes, which compute a
 * hash of all label values for each call; they are objects with the methods that registries call, and read
 * the same series as `inMemoryMetrics`.
 */
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { MetricsCollector } from '../collect/metrics-collector.ts'
import { METRICS, type MetricDefinition, type MetricType } from '../metrics/catalog.ts'
import { METRICS_SCHEMA, type MetricsOptions, readMaxSeries } from '../metrics/metric-set.ts'
import type { Exporter } from '../observe/exporter.ts'
import { readMetric } from './reading.ts'

/** The part of a registry of prom-client that is used. */
interface PromRegistry {
	getSingleMetric(name: string): unknown
	registerMetric(metric: never): void
}

/** The part of the module `prom-client` that is used. */
export interface PromClient {
	readonly register: PromRegistry
}

/** Options of `prometheus`, its second argument: `prometheus(prom, options)`. */
export interface PrometheusOptions extends MetricsOptions {
	/** Where the metrics are registered. Default: `prom.register`. */
	readonly registry?: PromRegistry | undefined
}

/**
 * Creates an exporter for `observe` that registers the metrics in prom-client. A second call for a registry
 * returns the exporter of the first, with its `maxSeries`. A metric of another origin whose name the registry
 * already has stays as it is, and a console warning reports it once.
 *
 * @example
 * import * as prom from 'prom-client'
 *
 * observe({ payments }, [prometheus(prom, { registry: prom.register })])
 * await prom.register.metrics()
 */
export function prometheus(prom: PromClient, options: PrometheusOptions = {}): Exporter {
	const name = 'prometheus'
	const maxSeries = readMaxSeries(options, name, { ...METRICS_SCHEMA, registry: 'any' })
	const registry = options.registry ?? prom?.register
	if (typeof registry?.registerMetric !== 'function') {
		if (options.registry !== undefined)
			invalidOption('registry', options.registry, 'a registry of prom-client')
		invalidArgument('prom', prom, 'the module prom-client')
	}
	const known = REGISTERED.get(registry)
	const collector = known?.collector ?? new MetricsCollector(name, maxSeries)
	const exporter = known?.exporter ?? { name, attach: (source) => collector.attach(source) }
	REGISTERED.set(registry, { collector, exporter })
	// Again for a known registry, because it may have been cleared.
	registerAll(registry, collector)
	return exporter
}

/** The collector of each registry, which has one metric of each name. */
const REGISTERED = new WeakMap<
	PromRegistry,
	{ readonly collector: MetricsCollector; readonly exporter: Exporter }
>()

function registerAll(registry: PromRegistry, collector: MetricsCollector): void {
	const taken: string[] = []
	let failure: unknown
	for (const [name, definition] of Object.entries(METRICS))
		try {
			const registered = registry.getSingleMetric(name)
			if (registered === undefined)
				registry.registerMetric(new RegisteredMetric(name, definition, collector) as never)
			else if (!(registered instanceof RegisteredMetric)) taken.push(name)
		} catch (error) {
			taken.push(name)
			failure = error
		}
	if (taken.length === 0) return
	const others = taken.length > 1 ? ` and ${taken.length - 1} more` : ''
	const text = `the registry already has the metric ${taken[0]}${others}; this exporter does not change it`
	collector.fail('registry', text, failure)
}

/** The aggregators of an AggregatorRegistry, which combines processes. None is for the worst of states. */
const AGGREGATORS = { sum: 'sum', max: 'max', min: 'min', worst: 'max' } as const

/** A metric with the members that a registry uses. */
class RegisteredMetric {
	/** A registry for OpenMetrics removes `_total` from it and adds it again to each line. */
	name: string
	readonly help: string
	readonly type: MetricType
	readonly aggregator: string
	readonly labelNames: readonly string[]
	readonly #id: string
	readonly #collector: MetricsCollector

	constructor(
		name: string,
		{ help, type, labels, combination = 'sum' }: MetricDefinition,
		collector: MetricsCollector,
	) {
		this.name = name
		this.help = help
		this.type = type
		this.aggregator = AGGREGATORS[combination]
		this.labelNames = labels
		this.#id = name
		this.#collector = collector
	}

	/** Returns new objects: registries with default labels change them. */
	async get(): Promise<object> {
		const { name, help, type, aggregator } = this
		const { samples } = await readMetric(this.#id, this.#collector)
		const values = samples.map((sample) => ({
			labels: sample.labels,
			value: sample.value,
			...(type === 'histogram' ? { metricName: sample.name } : {}),
		}))
		return { name, help, type, aggregator, values }
	}

	reset(): void {
		this.#collector.metrics.reset(this.#id)
	}
}
