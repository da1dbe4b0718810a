import type { EventBase, YaokiEvent } from '../../core/events/events.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import { countEvents } from './count-events.ts'

/** Returns the function that receives the events of a policy, pipeline or HTTP client. */
export function collectPolicyEvents(metrics: MetricSet, source: ObservedSource): (event: EventBase) => void {
	const isHttp = source.kind === 'http'
	const count = countEvents(metrics, source)
	return (event) => {
		const known = event as YaokiEvent
		switch (known.type) {
			case 'retry_attempt': {
				const { statusCode, method = 'unknown' } = known
				if (isHttp) count('http_client_retries_total', event, toStatus(statusCode), method)
				break
			}
			case 'retry_failure':
				count('yaoki_retries_stopped_total', event, known.stop)
				break
			case 'rejected':
				// In shadow mode the call was let through.
				if (!known.shadow) count('yaoki_rejected_calls_total', event, known.reason)
				break
			case 'timeout':
				count('yaoki_timeouts_total', event)
				break
			case 'fallback':
				count('yaoki_fallbacks_total', event)
				break
			case 'hedge':
				count('yaoki_hedges_total', event, known.outcome)
				break
			case 'state_change':
				// A circuit in shadow mode must raise no alert.
				if (!known.shadow) count('yaoki_circuit_breaker_transitions_total', event, known.from, known.to)
				break
		}
	}
}

/** Errors of user code may have any number as their status. */
const toStatus = (status: number | undefined): string =>
	status !== undefined && Number.isInteger(status) && status >= 100 && status <= 999 ? `${status}` : 'network'
