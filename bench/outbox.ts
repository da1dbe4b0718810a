/** The performance targets of the outbox, on a real PostgreSQL with its default durability and on SQLite, each beside its peers. */
import type { Report } from './figure.ts'
import { outboxBatches } from './outbox/batches.ts'
import { outboxDrain } from './outbox/drain.ts'
import { outboxEnqueue } from './outbox/enqueue.ts'
import { outboxHeldSnapshot } from './outbox/held-snapshot.ts'
import { outboxInbox } from './outbox/inbox.ts'
import { outboxLatency } from './outbox/latency.ts'
import { outboxOpenTransaction } from './outbox/open-transaction.ts'
import { outboxOrdered } from './outbox/ordered.ts'
import { share } from './outbox/servers.ts'
import { outboxWaiting } from './outbox/waiting.ts'
import { outboxWebhooks } from './outbox/webhooks.ts'

/** A target measured with fewer messages or orders than required does not count as reached. */
export async function onlyInFull(measure: () => Promise<Report>): Promise<Report> {
	const report = await measure()
	if (share >= 1) return report
	const figures = report.figures.map((figure) => ({
		...figure,
		measured: `${figure.measured}, with BENCH_SHARE=${share}`,
		reached: false,
	}))
	return { ...report, figures }
}

export const OUTBOX_PARTS: Readonly<Record<string, () => Promise<Report>>> = {
	'outbox-batches': () => onlyInFull(outboxBatches),
	'outbox-drain': () => onlyInFull(outboxDrain),
	'outbox-enqueue': () => onlyInFull(outboxEnqueue),
	'outbox-inbox': () => onlyInFull(outboxInbox),
	'outbox-latency': () => onlyInFull(outboxLatency),
	'outbox-open-transaction': () => onlyInFull(outboxOpenTransaction),
	'outbox-ordered': () => onlyInFull(outboxOrdered),
	'outbox-waiting': () => onlyInFull(outboxWaiting),
	'outbox-webhooks': () => onlyInFull(outboxWebhooks),
	/** Takes a quarter of an hour, so it has another first word. */
	'held-snapshot': () => onlyInFull(outboxHeldSnapshot),
}
