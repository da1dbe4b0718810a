/** Counts and tells what became of messages, once it is written down: before that nothing is certain. */
import type { RelayContext } from './relay-context.ts'
import type { SettledDelivery } from './settler.ts'

export function emitSettlement(
	context: RelayContext,
	{ delivery, outcome, durationMs }: SettledDelivery,
	isLost: boolean,
): void {
	const { id, topic, destination, attempt: attempts, dueAt } = delivery.row
	const message = { id, topic, destination, attempts }
	if (isLost) {
		context.tell({ type: 'lease_lost', ...message })
		return
	}
	switch (outcome.type) {
		case 'sent':
			context.sent++
			if (context.isHeard) {
				const lagMs = Math.max(0, context.databaseNow() - dueAt)
				context.tell({ type: 'message_sent', ...message, durationMs, lagMs })
			}
			break
		case 'retry': {
			context.failed++
			const { inMs: retryInMs, error } = outcome
			const { type: errorType, message: errorMessage } = error
			context.tell({ type: 'message_failed', ...message, durationMs, retryInMs, errorType, errorMessage })
			break
		}
		case 'dead': {
			context.dead++
			const { cause, error, refundAttempt } = outcome
			const tried = refundAttempt ? { ...message, attempts: attempts - 1 } : message
			const why = error ? { errorType: error.type, errorMessage: error.message } : {}
			context.tell({ type: 'message_dead', ...tried, cause, ...why })
			break
		}
		case 'release':
			context.tell({ type: 'message_released', ...message, reason: delivery.releasedFor })
	}
}
