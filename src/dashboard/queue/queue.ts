/** What databases know of messages: the half of the dashboard behind outboxes, inboxes, webhooks and idempotency engines. */
import type { Observable } from '../../core/observe/observation.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { QueuePart } from '../parts.ts'
import { checkAction } from './actions.ts'
import { checkFields, checkId } from './input.ts'
import { Jobs } from './jobs.ts'
import { findRow, readMessage } from './message.ts'
import { OverviewReader } from './overview.ts'
import { readAudit, readDead, readEndpoints } from './pages.ts'
import { planAction } from './plan.ts'
import { ActionRunner } from './run.ts'
import { readSearch, searchMessages } from './search.ts'
import type { QueueSettings } from './settings.ts'
import { requireSource, sortSources } from './sources.ts'

/** `things` are what `observe` has. Those of other kinds are ignored. */
export function createQueue(
	things: Readonly<Record<string, Observable>>,
	settings: QueueSettings,
): QueuePart {
	const sources = sortSources(things)
	const overview = new OverviewReader(sources, settings)
	const jobs = new Jobs(settings)
	const runner = new ActionRunner(sources, jobs, settings)
	const outboxOf = (name: string | undefined) => requireSource('outbox', name, sources.outboxes)
	return {
		async overview() {
			const read = await overview.read()
			return { ...read, jobs: jobs.list() }
		},
		async messages(query) {
			const search = readSearch(query, settings)
			const [, outbox] = outboxOf(query['outbox'])
			if (search.id === undefined) return searchMessages(outbox, search, settings)
			const found = await findRow(outbox, search.id, settings)
			return { messages: found ? [found] : [], next: null, scanned: found ? 1 : 0 }
		},
		async message(query) {
			checkFields(query, ['outbox', 'id'])
			const { id } = query
			if (id === undefined) invalidArgument('id', id, 'a message id, which is a UUID')
			const [name, outbox] = outboxOf(query['outbox'])
			return readMessage(name, outbox, checkId('id', id), settings)
		},
		async dead(query) {
			const [name, outbox] = outboxOf(query['outbox'])
			return readDead(name, outbox, query, settings)
		},
		async audit(query) {
			return readAudit(outboxOf(query['outbox'])[1], query, settings)
		},
		async endpoints(query) {
			const [name, webhooks] = requireSource('webhooks', query['webhooks'], sources.webhooks)
			return readEndpoints(name, webhooks, query, settings)
		},
		plan: async (action) => planAction(checkAction(action, true), sources, settings),
		run: async (action, actor) => runner.run(checkAction(action, false), actor),
		async close() {
			overview.close()
			await jobs.close()
		},
	}
}
