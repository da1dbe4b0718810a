/** Queues in every state, made by the store itself, and the part of the dashboard that shows them. */
import { Outbox, type OutboxOptions } from 'yaoki/outbox'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import type { QueuePart } from '../../../src/dashboard/parts.ts'
import { createQueue } from '../../../src/dashboard/queue/queue.ts'
import type { QueueSettings } from '../../../src/dashboard/queue/settings.ts'
import type { DeadLetterCause, NewMessage } from '../../../src/outbox/message/message.ts'
import type { ClaimedRow, NewAttempt } from '../../../src/outbox/store/rows.ts'
import type { OutboxStoreUnderTest } from '../../../src/outbox/testing/index.ts'

export const SETTINGS: QueueSettings = {
	runtime: systemRuntime,
	payloads: 'shown',
	redact: (text) => text.replaceAll('hunter2', '***'),
	host: 'web-1',
	pid: 7,
}

export const RELAY = {
	id: 'relay-1',
	host: 'web-1',
	pid: 7,
	destinations: ['billing', 'mail*'],
	orderedDestinations: [],
	heartbeatMs: 5_000,
	inFlight: 0,
	sent: 3,
	failed: 2,
	dead: 1,
	throughput: 4,
}

export interface TestQueue extends AsyncDisposable {
	readonly under: OutboxStoreUnderTest
	readonly outbox: Outbox
	readonly queue: QueuePart
	enqueue(...messages: readonly Partial<NewMessage>[]): Promise<string[]>
	claim(destination: string, limit?: number): Promise<readonly ClaimedRow[]>
	/** Enqueues messages and makes them dead letters. */
	die(
		count: number,
		message?: Partial<NewMessage>,
		failure?: { readonly cause?: DeadLetterCause; readonly error?: string; readonly isLogged?: boolean },
	): Promise<string[]>
	send(destination: string): Promise<string[]>
}

export async function testQueue(
	under: OutboxStoreUnderTest,
	options: Partial<OutboxOptions> = {},
	settings: Partial<QueueSettings> = {},
): Promise<TestQueue> {
	const { store } = under
	await store.migrate()
	const outbox = new Outbox({ store, outsideTransaction: 'allow', historyForMs: 600_000, ...options })
	const queue = createQueue({ orders: outbox }, { ...SETTINGS, ...settings })
	const enqueue: TestQueue['enqueue'] = async (...messages) => {
		const ids: string[] = []
		for (const message of messages)
			ids.push(
				(await outbox.enqueue({ topic: 'order.placed', destination: 'billing', payload: {}, ...message })).id,
			)
		return ids
	}
	const claim: TestQueue['claim'] = async (destination, limit = 1_000) =>
		(
			await store.claim({
				owner: 'relay-1',
				leaseMs: 60_000,
				targets: [{ destination, limit, since: 0, isOrdered: false, isProbe: false }],
				poisonCandidates: false,
				poisonAfter: 3,
			})
		).rows
	return {
		under,
		outbox,
		queue,
		enqueue,
		claim,
		async die(count, message = {}, { cause = 'permanent', error = 'HTTP 500', isLogged = false } = {}) {
			const ids = await enqueue(...Array.from({ length: count }, () => message))
			const rows = await claim(message.destination ?? 'billing')
			await store.settle(
				'relay-1',
				rows.map((row) => ({
					id: row.id,
					attempt: row.attempt,
					claimedAt: row.claimedAt,
					type: 'dead',
					cause,
					error: { type: 'HttpError', message: error, fingerprint: `of ${error}` },
					afterDeadLetter: 'skip',
					...(isLogged && { log: attemptOf(row, error) }),
				})),
				true,
			)
			return ids
		},
		async send(destination) {
			const rows = await claim(destination)
			const settlements = rows.map(({ id, attempt }) => ({ id, attempt, type: 'sent' as const }))
			await store.settle('relay-1', settlements, true)
			return rows.map(({ id }) => id)
		},
		async [Symbol.asyncDispose]() {
			await queue.close()
			await under.close()
		},
	}
}

const attemptOf = ({ id, destination, attempt, claimedAt }: ClaimedRow, error: string): NewAttempt => ({
	messageId: id,
	destination,
	attempt,
	relay: 'relay-1',
	startedAt: claimedAt,
	durationMs: 12,
	outcome: 'dead',
	statusCode: 500,
	errorType: 'HttpError',
	errorMessage: error,
	response: 'sorry',
	keepForMs: 600_000,
})
