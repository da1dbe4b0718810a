/**
 * Connects what emits events with what exports them. Each source gets one observer that calls all exporters,
 * so that a call costs one measurement however many exporters there are.
 */
import { type Observable, type Observation, observationOf } from '../../core/observe/observation.ts'
import { combineEnds } from '../../core/observe/subscribe.ts'
import {
	checkNames,
	invalidArgument,
	isObject,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import { attachObserver } from './attach.ts'
import { combineObservers } from './combine.ts'
import type { Exporter, ObservedSource, ServiceFacts } from './exporter.ts'
import { reportsOf } from './report.ts'
import { serviceNames } from './service-name.ts'

/** Options of `observe`. */
export interface ObserveOptions {
	/**
	 * Returns the name of the service for logs and metrics; undefined for the default. Default: the name that
	 * was passed to `observe`. Requests of an HTTP client to an origin other than its `baseUrl` have the host
	 * of their origin. Return few different names: each is a label value of many
	 * series.
	 */
	readonly service?: ((event: ServiceFacts) => string | undefined) | undefined
}

const OPTIONS: OptionSchema = { service: 'function' }

/** The names of what each exporter observes: observing a thing twice would count everything twice. */
const OBSERVED = new WeakMap<Exporter, Map<object, string>>()

/**
 * Observes policies, pipelines, HTTP clients, `resilientFetch` functions, relays, outboxes and idempotency
 * engines. The names of the properties are the names of the services. Returns a function that ends the
 * observation. Exporters never affect calls: their errors are reported once, as console warnings.
 *
 * @example
 * import { pino } from 'pino'
 *
 * const metrics = inMemoryMetrics()
 * const stop = observe({ payments, client, relay, outbox }, [metrics, logger(pino())])
 */
export function observe(
	things: Readonly<Record<string, Observable>>,
	exporters: readonly Exporter[],
	options: ObserveOptions = {},
): () => void {
	const observations = readThings(things)
	checkExporters(exporters)
	checkNames(options, OPTIONS, 'observe')
	const settings = readOptions<ObserveOptions>(options, OPTIONS)
	return combineEnds(
		observations.map(([name, observation]) => observeThing(name, observation, exporters, settings)),
	)
}

type IdentifiedObservation = Observation & { readonly identity: object }

function observeThing(
	name: string,
	observation: IdentifiedObservation,
	exporters: readonly Exporter[],
	{ service }: ObserveOptions,
): () => void {
	const { kind, members, stats, identity } = observation
	const serviceOf = serviceNames(name, observation, service)
	const source: ObservedSource = { name, kind, serviceOf, members, stats }
	const added = exporters.filter((exporter) => remember(exporter, identity, name))
	const { observer, detach } = combineObservers(added, source)
	const end = attachObserver(observation, observer)
	return () => {
		end()
		for (const exporter of added) OBSERVED.get(exporter)?.delete(identity)
		detach()
	}
}

/** Returns false, with a warning, if the exporter observes the thing already. */
function remember(exporter: Exporter, thing: object, name: string): boolean {
	const observed = OBSERVED.get(exporter) ?? new Map<object, string>()
	OBSERVED.set(exporter, observed)
	const before = observed.get(thing)
	if (before === undefined) {
		observed.set(thing, name)
		return true
	}
	reportsOf(exporter).report(
		`twice ${name}`,
		`"${name}" is already observed, as "${before}", and is not counted twice. Stop the first observation before the second.`,
	)
	return false
}

/** Returns what each of the things offers, with its name. */
function readThings(things: unknown): (readonly [name: string, observation: IdentifiedObservation])[] {
	if (!isObject(things) || '~observable' in things)
		invalidArgument('things', things, 'an object such as { payments, client }')
	return Object.entries(things).map(([name, thing]) => {
		const observation = observationOf(thing)
		if (!observation)
			invalidArgument(
				`things.${name}`,
				thing,
				'a policy, pipeline, HTTP client, resilientFetch function, relay, outbox or idempotency engine',
			)
		return [name, { identity: Object(thing), ...observation }]
	})
}

function checkExporters(exporters: unknown): void {
	if (!Array.isArray(exporters)) invalidArgument('exporters', exporters, 'an array such as [logger(console)]')
	for (const [index, exporter] of exporters.entries())
		if (typeof (exporter as Partial<Exporter> | null | undefined)?.attach !== 'function')
			invalidArgument(
				`exporters[${index}]`,
				exporter,
				'an exporter, such as logger(pino()), inMemoryMetrics() or openTelemetry(otel)',
			)
}
