/** The relay of a relay process: sends orders to the receiver and reports its counts. */
import { systemRuntime } from '../../core/runtime/system.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import { httpDestination, Outbox, Relay } from '../../outbox/index.ts'
import type { DatabaseTarget } from '../outbox/database-target.ts'
import { openStore } from '../outbox/open-outbox.ts'
import { RELAY_HEADER } from './receiver.ts'
import type { FromRelay, RelayCounts, RelayInput } from './relay-process.ts'

const REPORT_INTERVAL_MS = 200

type MutableCounts = { -readonly [Name in keyof RelayCounts]: RelayCounts[Name] }
type Send = (message: FromRelay) => void

/** Sends until `stopped` resolves, then finishes the messages in flight. */
export async function runDemoRelay(input: RelayInput, send: Send, stopped: Promise<void>): Promise<void> {
	const { store, close } = await openStore(toTarget(input))
	const outbox = new Outbox({ store })
	try {
		await runRelay(outbox, input, send, stopped)
	} finally {
		await outbox.close()
		await close()
	}
}

async function runRelay(
	outbox: Outbox,
	{ name, to, schedule }: RelayInput,
	send: Send,
	stopped: Promise<void>,
): Promise<void> {
	const counts: MutableCounts = { sent: 0, failed: 0, circuit: 'closed' }
	const { leaseMs, breakerMs, timeoutMs } = schedule
	const relay = new Relay(outbox, {
		...{ name, leaseMs, concurrency: 16, pollMs: 200, rampUpMs: breakerMs },
		destinations: { orders: httpDestination({ url: to, headers: { [RELAY_HEADER]: name }, timeoutMs }) },
		// About as many as are in flight, so that a kill leaves few messages locked by its lease.
		batchSize: 32,
		retry: { baseDelayMs: 100, maxDelayMs: 1000, maxRetries: 1000 },
		breaker: { failureThreshold: 5, resetTimeoutMs: breakerMs, resetBackoff: { maxDelayMs: 1000 } },
		onEvent: (event) => count(counts, event),
	})
	await relay.start()
	send({ type: 'ready' })
	let cancelReport = () => {}
	const report = () => {
		send({ type: 'counts', ...counts })
		cancelReport = systemRuntime.setTimer(REPORT_INTERVAL_MS, report)
	}
	report()
	await stopped
	await relay.stop()
	cancelReport()
	send({ type: 'counts', ...counts })
}

function toTarget({ database }: RelayInput): DatabaseTarget {
	if (database.kind === 'sqlite') return { ...database, name: database.file, flags: '' }
	return { ...database, name: 'PostgreSQL', flags: '', secrets: [] }
}

function count(counts: MutableCounts, event: RelayEvent): void {
	if (event.type === 'sent') counts.sent += 1
	if (event.type === 'retry_scheduled') counts.failed += 1
	if (event.type === 'state_change') counts.circuit = event.to
}
