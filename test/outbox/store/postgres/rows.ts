/** Messages and claims as tests of this store write them. */
import { randomUUID } from 'node:crypto'
import type { ClaimLane, ClaimRequest, NewRow, Outcome } from '../../../../src/outbox/store/rows.ts'

export const newRow = (part: Partial<NewRow> = {}): NewRow => ({
	id: randomUUID(),
	topic: 'order.created',
	destination: 'shop',
	key: null,
	payload: '{"n":1}',
	headers: null,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
	...part,
})

export const newRows = (count: number, part: Partial<NewRow> = {}): NewRow[] =>
	Array.from({ length: count }, () => newRow(part))

/** A claim of one lane. */
export const wanted = (lane: Partial<ClaimLane> = {}, request: Partial<ClaimRequest> = {}): ClaimRequest => ({
	owner: 'relay',
	leaseMs: 60_000,
	suspects: false,
	suspectAfter: 2,
	lanes: [{ destination: 'shop', limit: 1_000, since: 0, isOrdered: false, isProbe: false, ...lane }],
	...request,
})

export const retry = (row: { id: string; attempt: number }, message: string): Outcome => ({
	type: 'retry',
	id: row.id,
	attempt: row.attempt,
	inMs: 60_000,
	delayMs: 1_000,
	error: { type: 'Error', message, fingerprint: 'f' },
})
