import type { EventBase } from '../../core/events/events.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import type { DeadLetterCause } from '../../outbox/message/message.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { Counter, Family, Histogram } from '../metrics/series.ts'
import { SeriesCache } from '../metrics/series-cache.ts'
import type { Source } from '../observe/exporter.ts'

/** Dead letters that an attempt caused. The others were never sent. */
const CAUSED_BY_ATTEMPT: ReadonlySet<DeadLetterCause> = /* @__PURE__ */ new Set([
	'retries-exhausted',
	'permanent',
] as const)

/** Returns the function that receives the events of a relay. */
export function collectRelayEvents(metrics: MetricSet, source: Source): (event: EventBase) => void {
	const deliveries = new SeriesCache(metrics.maxSeries, () => new DeliverySeries(metrics))
	const count = (name: string, event: EventBase, ...labels: readonly string[]): void =>
		metrics
			.counter(name)
			.get(source.serviceOf(event), ...labels)
			.add(1)
	return (event) => {
		const known = event as RelayEvent
		switch (known.type) {
			case 'sent':
			case 'retry_scheduled':
			case 'dead_letter': {
				const labels = [source.serviceOf(event), known.key] as const
				deliveries.get(labels.join('\n'), () => new DeliverySeries(metrics, labels)).record(known)
				break
			}
			case 'state_change':
				count('yaoki_relay_transitions_total', event, known.key, known.from, known.to)
				break
			case 'released':
				count('yaoki_relay_released_messages_total', event, known.reason)
				break
			case 'lease_lost':
				count('yaoki_relay_leases_lost_total', event)
				break
			case 'store_failure':
				count('yaoki_relay_store_failures_total', event, known.operation)
				break
			case 'handlers_hung':
				count('yaoki_relay_hung_handlers_total', event, known.key)
				break
		}
	}
}

type DeliveryEvent = Extract<RelayEvent, { readonly type: 'sent' | 'retry_scheduled' | 'dead_letter' }>

/** The series of one destination. Without labels: of all beyond `maxSeries`. */
class DeliverySeries {
	readonly #metrics: MetricSet
	readonly #labels: readonly string[] | undefined
	readonly #sent: Counter
	readonly #retries: Counter
	readonly #dead: Counter
	readonly #durations: Histogram
	readonly #lags: Histogram

	constructor(metrics: MetricSet, labels?: readonly string[]) {
		this.#metrics = metrics
		this.#labels = labels
		this.#sent = this.#counter('yaoki_relay_deliveries_total', 'sent')
		this.#retries = this.#counter('yaoki_relay_deliveries_total', 'retry')
		this.#dead = this.#counter('yaoki_relay_deliveries_total', 'dead')
		// Rates do not see how a series appears, so those of an alert exist from the first delivery.
		for (const cause of CAUSED_BY_ATTEMPT) this.#counter('yaoki_relay_dead_letters_total', cause)
		this.#durations = this.#at(metrics.histogram('yaoki_relay_delivery_duration_seconds'))
		this.#lags = this.#at(metrics.histogram('yaoki_relay_delivery_lag_seconds'))
	}

	record(event: DeliveryEvent): void {
		if (event.type === 'dead_letter') {
			if (CAUSED_BY_ATTEMPT.has(event.cause)) this.#dead.add(1)
			this.#counter('yaoki_relay_dead_letters_total', event.cause).add(1)
			return
		}
		this.#durations.record(event.durationMs / 1_000)
		if (event.type === 'retry_scheduled') {
			this.#retries.add(1)
			return
		}
		this.#sent.add(1)
		this.#lags.record(event.lagMs / 1_000)
	}

	#counter(name: string, ...labels: readonly string[]): Counter {
		return this.#at(this.#metrics.counter(name), ...labels)
	}

	#at<Series extends Counter | Histogram>(family: Family<Series>, ...labels: readonly string[]): Series {
		return this.#labels === undefined ? family.overflow() : family.get(...this.#labels, ...labels)
	}
}
