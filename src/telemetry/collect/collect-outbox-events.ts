import type { EventBase } from '../../core/events/events.ts'
import type { OutboxEvent } from '../../outbox/events/outbox-events.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'

/** Returns the function that receives the events of an outbox. */
export function collectOutboxEvents(metrics: MetricSet, source: ObservedSource): (event: EventBase) => void {
	return (event) => {
		const known = event as OutboxEvent
		if (known.type !== 'outbox_enqueued') return
		const service = source.serviceOf(event)
		const enqueued = metrics.counter('yaoki_outbox_enqueued_messages_total')
		for (const topic of Object.keys(known.topics)) enqueued.get(service, topic).add(known.topics[topic] ?? 0)
		if (known.duplicates > 0)
			metrics.counter('yaoki_outbox_duplicate_messages_total').get(service).add(known.duplicates)
	}
}
