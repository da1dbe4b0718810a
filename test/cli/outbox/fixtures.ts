/** Puts messages into the states that commands show: due, scheduled, in flight, dead. */

import type { DeadLetterCause, NewMessage } from '../../../src/outbox/message/message.ts'
import { toStoredError } from '../../../src/outbox/message/stored-error.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import type { AfterDeadLetter, ClaimedRow, RelayReport } from '../../../src/outbox/store/rows.ts'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'

const LEASE_MS = 600_000

/** Claims the due messages of a destination, as a relay would. */
export async function claim(
	store: OutboxStore,
	destination: string,
	owner = 'some-relay',
): Promise<readonly ClaimedRow[]> {
	const target = { destination, limit: 100, since: 0, isOrdered: false, isProbe: false }
	const request = { owner, leaseMs: LEASE_MS, targets: [target], poisonCandidates: false, poisonAfter: 2 }
	return (await store.claim(request)).rows
}

/** Moves the due messages of a destination to the dead letters. */
export async function killMessages(
	store: OutboxStore,
	destination: string,
	error: Error,
	cause: DeadLetterCause = 'retries-exhausted',
	afterDeadLetter: AfterDeadLetter = 'skip',
): Promise<void> {
	const rows = await claim(store, destination)
	await store.settle(
		'some-relay',
		rows.map(({ id, attempt }) => ({
			type: 'dead',
			id,
			attempt,
			cause,
			afterDeadLetter,
			error: toStoredError(error),
		})),
		false,
	)
}

/** Fails the due messages of a destination; their retry is due in an hour. */
export async function failMessages(store: OutboxStore, destination: string): Promise<void> {
	const rows = await claim(store, destination)
	const error = toStoredError(new Error('not now'))
	await store.settle(
		'some-relay',
		rows.map(({ id, attempt }) => ({
			type: 'retry',
			id,
			attempt,
			inMs: 3_600_000,
			delayMs: 3_600_000,
			error,
		})),
		false,
	)
}

/** Enqueues `count` messages and returns their ids. */
export async function enqueue(
	outbox: Outbox,
	destination: string,
	count = 1,
	more: Pick<NewMessage, 'notBefore' | 'expiresAt' | 'key' | 'maxRetries'> = {},
): Promise<readonly string[]> {
	const messages = Array.from({ length: count }, (_, number) => ({
		topic: 'order.created',
		destination,
		payload: { number },
		...more,
	}))
	const receipts = await outbox.enqueue(messages, { withoutTransaction: true })
	return receipts.map(({ id }) => id)
}

/** Records a heartbeat of a relay that serves all destinations. */
export const beat = (store: OutboxStore, part: Partial<RelayReport> = {}): Promise<void> =>
	store.heartbeat(
		{
			id: 'relay-1',
			host: 'box',
			pid: 17,
			destinations: ['*'],
			orderedDestinations: [],
			heartbeatMs: 5_000,
			inFlight: 0,
			sent: 0,
			failed: 0,
			dead: 0,
			throughput: 0,
			...part,
		},
		LEASE_MS,
	)
