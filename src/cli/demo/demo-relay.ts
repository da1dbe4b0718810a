/** What a relay process of the demo description: sends orders to the receiver, and tells how far it has come. */
import { systemRuntime } from '../../core/runtime/system.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import { httpDestination, Outbox, Relay } from '../../outbox/index.ts'
import type { DatabaseTarget } from '../outbox/database-target.ts'
import { openStore } from '../outbox/open-outbox.ts'
import { RELAY_HEADER } from './receiver.ts'
import type { Brief, RelayCounts, Word } from './relay-protocol.ts'

const TELL_EVERY_MS = 200

type Counts = { -readonly [Name in keyof RelayCounts]: RelayCounts[Name] }

/** Sends until it is stopped, and then finishes what is under way. */
export async function demoRelay(
	brief: Brief,
	tell: (word: Word) => void,
	stopped: Promise<void>,
): Promise<void> {
	const { store, close } = await openStore(targetOf(brief))
	const outbox = new Outbox({ store })
	try {
		await send(outbox, brief, tell, stopped)
	} finally {
		await outbox.close()
		await close()
	}
}

async function send(
	outbox: Outbox,
	{ name, to, plan }: Brief,
	tell: (word: Word) => void,
	stopped: Promise<void>,
): Promise<void> {
	const counts: Counts = { sent: 0, failed: 0, gate: 'closed' }
	const { leaseMs, breakerMs, timeoutMs } = plan
	const relay = new Relay(outbox, {
		...{ name, leaseMs, concurrency: 16, pollMs: 200, rampUpMs: breakerMs },
		destinations: { orders: httpDestination({ url: to, headers: { [RELAY_HEADER]: name }, timeoutMs }) },
		// About as many as are sent at a time, so that a kill leaves few that nobody else may touch.
		batchSize: 32,
		retry: { baseDelayMs: 100, maxDelayMs: 1000, maxRetries: 1000 },
		breaker: { failureThreshold: 5, resetTimeoutMs: breakerMs, resetBackoff: { maxDelayMs: 1000 } },
		onEvent: (event) => count(counts, event),
	})
	await relay.start()
	tell({ type: 'ready' })
	let silence = () => {}
	const tellCounts = () => {
		tell({ type: 'counts', ...counts })
		silence = systemRuntime.setTimer(TELL_EVERY_MS, tellCounts)
	}
	tellCounts()
	await stopped
	await relay.stop()
	silence()
	tell({ type: 'counts', ...counts })
}

function targetOf({ database }: Brief): DatabaseTarget {
	if (database.kind === 'sqlite') return { ...database, name: database.file, flags: '' }
	return { ...database, name: 'PostgreSQL', flags: '', secrets: [] }
}

function count(counts: Counts, event: RelayEvent): void {
	if (event.type === 'sent') counts.sent += 1
	if (event.type === 'retry_scheduled') counts.failed += 1
	if (event.type === 'state_change') counts.gate = event.to
}
