/** Placeholder of the queue half: nothing is read yet. */
import type { Observable } from '../../core/observe/observation.ts'
import type { PartSettings, QueuePart } from '../parts.ts'

export const createQueue = (
	_things: Readonly<Record<string, Observable>>,
	_settings: PartSettings,
): QueuePart => ({
	overview: async () => ({
		outboxes: [],
		idempotency: [],
		inboxes: [],
		webhooks: [],
		jobs: [],
		problems: [],
	}),
	messages: async () => ({ messages: [], next: null, scanned: 0 }),
	message: async () => undefined,
	dead: async () => ({ groups: [], hasMore: false }),
	audit: async () => ({ records: [], next: null }),
	endpoints: async () => ({ endpoints: [], next: null }),
	plan: async () => ({ matching: { count: 0, isCapped: false }, destinations: [], waiting: [], command: '' }),
	run: async () => ({ changed: 0, job: null, command: null }),
	close: async () => undefined,
})
