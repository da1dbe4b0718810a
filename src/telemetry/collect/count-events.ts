import type { EventBase } from '../../core/events/events.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'

type CountEvent = (name: string, event: EventBase, ...labels: readonly string[]) => void

/** Returns a function that adds an event to a counter. The first label is the service, then come the given ones. */
export const countEvents =
	(metrics: MetricSet, source: ObservedSource): CountEvent =>
	(name, event, ...labels) =>
		metrics
			.counter(name)
			.get(source.serviceOf(event), ...labels)
			.add(1)
