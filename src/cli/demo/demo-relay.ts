/** The relay of a relay process: sends orders to the receiver and reports its counts. */
import { systemRuntime } from '../../core/runtime/system.ts'
import { httpDestination } from '../../outbox/destinations/http-destination.ts'
import { Outbox } from '../../outbox/outbox.ts'
import { Relay } from '../../outbox/relay/relay.ts'
import { openStore } from '../outbox/open-outbox.ts'
import { every } from '../relay/summary.ts'
import { RELAY_HEADER } from './receiver.ts'
import type { FromRelay, RelayCounts, RelayInput } from './relay-process.ts'
import { HISTORY_MS } from './shop.ts'

const REPORT_INTERVAL_MS = 200

/** Sends until `stopped` resolves, then finishes the messages in flight. */
export async function runDemoRelay(
	{ name, to, database, schedule }: RelayInput,
	send: (message: FromRelay) => void,
	stopped: Promise<void>,
): Promise<void> {
	const { store, close } = await openStore(database)
	const outbox = new Outbox({ store, historyForMs: HISTORY_MS })
	const counts: RelayCounts = { sent: 0, failed: 0, circuit: 'closed' }
	const { leaseMs, breakerMs, timeoutMs } = schedule
	try {
		const relay = new Relay(outbox, {
			name,
			leaseMs,
			maxConcurrent: 16,
			pollMs: 200,
			attemptLog: true,
			rampUpMs: breakerMs,
			destinations: { orders: httpDestination({ url: to, headers: { [RELAY_HEADER]: name }, timeoutMs }) },
			// About as many as are in flight, so that a kill leaves few messages locked by its lease.
			batchSize: 32,
			retry: { baseDelayMs: 100, maxDelayMs: 1000, maxRetries: 1000 },
			circuitBreaker: { failureThreshold: 5, resetTimeoutMs: 1000, resetBackoff: { initialMs: breakerMs } },
			onEvent: (event) => {
				if (event.type === 'relay_sent') counts.sent += 1
				if (event.type === 'relay_retry_scheduled') counts.failed += 1
				if (event.type === 'relay_state_change') counts.circuit = event.to
			},
		})
		await relay.start()
		send({ type: 'ready' })
		const report = () => send({ type: 'counts', ...counts })
		const cancelReports = every(systemRuntime, REPORT_INTERVAL_MS, report)
		await stopped
		await relay.stop()
		cancelReports()
		report()
	} finally {
		await outbox.close()
		await close()
	}
}
