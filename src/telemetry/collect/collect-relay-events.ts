import type { EventBase } from '../../core/events/events.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import type { DeadLetterCause } from '../../outbox/message/message.ts'
import { destinationLabel } from '../metrics/destination-label.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { Counter, Histogram } from '../metrics/series.ts'
import { SeriesCache, SeriesGroup } from '../metrics/series-cache.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import { countEvents, RELAY_EVENTS, serviceOfSeries } from './collect-events.ts'

/** Dead letters that an attempt caused. The others were never sent. */
const CAUSED_BY_ATTEMPT: ReadonlySet<DeadLetterCause> = /* @__PURE__ */ new Set([
	'retries-exhausted',
	'permanent',
] as const)

/** Returns the function that receives the events of a relay. */
export function collectRelayEvents(metrics: MetricSet, source: ObservedSource): (event: EventBase) => void {
	const deliveries = new SeriesCache(metrics.maxSeries, () => new DeliverySeries(metrics))
	const count = countEvents(RELAY_EVENTS, metrics, source)
	return (event) => {
		const known = event as RelayEvent
		switch (known.type) {
			case 'relay_sent':
			case 'relay_retry_scheduled':
			case 'relay_dead_letter': {
				const labels = [serviceOfSeries(source, event), destinationLabel(known.destination)] as const
				deliveries.get(labels.join('\n'), () => new DeliverySeries(metrics, labels)).record(known)
				break
			}
			default:
				count(event)
		}
	}
}

type DeliveryEvent = Extract<
	RelayEvent,
	{ readonly type: 'relay_sent' | 'relay_retry_scheduled' | 'relay_dead_letter' }
>

/** The series of one destination or, without labels, of all destinations beyond `maxSeries`. */
class DeliverySeries {
	readonly #series: SeriesGroup
	readonly #sent: Counter
	readonly #retries: Counter
	readonly #dead: Counter
	readonly #durations: Histogram
	readonly #lags: Histogram

	constructor(metrics: MetricSet, labels?: readonly string[]) {
		const series = new SeriesGroup(metrics, labels)
		this.#series = series
		this.#sent = series.counter('yaoki_relay_deliveries_total', 'sent')
		this.#retries = series.counter('yaoki_relay_deliveries_total', 'retry')
		this.#dead = series.counter('yaoki_relay_deliveries_total', 'dead')
		// Rates do not see how a series appears, so the series of an alert exist from the first delivery.
		for (const cause of CAUSED_BY_ATTEMPT) series.counter('yaoki_relay_dead_letters_total', cause)
		this.#durations = series.histogram('yaoki_relay_delivery_duration_seconds')
		this.#lags = series.histogram('yaoki_relay_delivery_lag_seconds')
	}

	record(event: DeliveryEvent): void {
		if (event.type === 'relay_dead_letter') {
			if (CAUSED_BY_ATTEMPT.has(event.cause)) this.#dead.add(1)
			this.#series.counter('yaoki_relay_dead_letters_total', event.cause).add(1)
			return
		}
		this.#durations.record(event.durationMs / 1_000)
		if (event.type === 'relay_retry_scheduled') {
			this.#retries.add(1)
			return
		}
		this.#sent.add(1)
		this.#lags.record(event.lagMs / 1_000)
	}
}
