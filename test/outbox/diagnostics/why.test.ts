import { describe, expect, it } from 'vitest'
import { explainMessage } from '../../../src/outbox/diagnostics/why.ts'
import type {
	AttemptRow,
	DestinationCircuit,
	RelayRow,
	StoredMessage,
} from '../../../src/outbox/store/rows.ts'
import { circuit, FakeStore, idOf, letter, message, NOW, relay } from './fake-store.ts'

const ERROR = { type: 'HttpError', message: 'HTTP 503', fingerprint: 'aaaaaaaaaaaa' }

interface Case {
	readonly message: Partial<StoredMessage>
	readonly others?: readonly StoredMessage[]
	readonly relays?: readonly RelayRow[]
	readonly circuits?: readonly DestinationCircuit[]
	readonly text: string
}

const PAUSED = { by: 'ada@ops', reason: 'deploy', pausedAt: NOW - 1_000, pausedForMs: Infinity }

const ask = ({ message: given, others = [], relays = [relay()], circuits = [] }: Omit<Case, 'text'>) => {
	const store = new FakeStore([message({ id: idOf(50), ...given }), ...others])
	store.relayRows = relays
	store.circuitRows = circuits
	return explainMessage(store, store, idOf(50))
}

const cases: Record<string, Case> = {
	'sent and kept as history': {
		message: { status: 'sent', attempts: 2, endedAt: NOW - 180_000 },
		text: 'Sent 3 min ago on attempt 2.',
	},
	'sent at an unknown time': {
		message: { status: 'sent', attempts: 1 },
		text: 'Sent on attempt 1.',
	},
	'dead: retries exhausted': {
		message: {
			status: 'dead',
			cause: 'retries-exhausted',
			attempts: 6,
			endedAt: NOW - 7_200_000,
			error: ERROR,
		},
		text: 'Dead for 2 h: retries exhausted after 6 attempts (HttpError: HTTP 503). Fix the cause, then replay or discard it.',
	},
	'dead: permanent': {
		message: { status: 'dead', cause: 'permanent', attempts: 1, endedAt: NOW - 12_000, error: ERROR },
		text: 'Dead for 12 s: permanent failure on attempt 1 (HttpError: HTTP 503). Fix the cause, then replay or discard it.',
	},
	'dead: expired': {
		message: { status: 'dead', cause: 'expired', endedAt: NOW - 12_000, expiresAt: NOW - 12_000 },
		text: 'Dead for 12 s: expired at 2026-05-15T11:59:48.000Z before it was sent. Replay it with a later expiresAt, or discard it.',
	},
	'dead: expired between retries': {
		message: { status: 'dead', cause: 'expired', endedAt: NOW - 12_000, error: ERROR },
		text: 'Dead for 12 s: expired before it was sent (HttpError: HTTP 503). Replay it with a later expiresAt, or discard it.',
	},
	'dead: crashed': {
		message: { status: 'dead', cause: 'crashed', crashes: 3, endedAt: NOW - 12_000 },
		text: 'Dead for 12 s: 3 processes crashed while it was claimed. Find out why before you replay it, or discard it.',
	},
	'dead: predecessor dead': {
		message: { status: 'dead', cause: 'predecessor-dead', key: 'k', endedAt: NOW - 12_000 },
		others: [letter(7, { key: 'k' })],
		text: `Dead for 12 s: an earlier message with the same key 'k' became a dead letter (${idOf(7)}: HttpError: HTTP 503). Replay that one first, then this one.`,
	},
	'dead: predecessor dead and gone': {
		message: { status: 'dead', cause: 'predecessor-dead', key: 'k' },
		text: "Dead: an earlier message with the same key 'k' became a dead letter. Replay that one first, then this one.",
	},
	'in flight': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 57_000,
			attempts: 1,
		},
		text: 'In flight at relay relay-1 for 3 s, attempt 1.',
	},
	'in flight after a failure': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			leaseUntil: NOW + 57_000,
			attempts: 2,
			error: ERROR,
		},
		text: 'In flight at relay relay-1, attempt 2, previous error: HttpError: HTTP 503.',
	},
	'its relay crashed': {
		message: {
			status: 'processing',
			lockedBy: 'relay-9',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 12_000,
			attempts: 1,
		},
		text: 'Relay relay-9 claimed it and sends no heartbeats; another relay takes over when the lease expires in 12 s.',
	},
	'its relay sends no heartbeats, and no other relay runs': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 12_000,
			attempts: 1,
		},
		relays: [relay({ seenAt: NOW - 31_000 })],
		text: 'Relay relay-1 claimed it and sends no heartbeats; another relay takes over when the lease expires in 12 s. Also, no relay is running.',
	},
	'its lease expired': {
		message: { status: 'processing', lockedBy: 'relay-9', leaseUntil: NOW - 2_000, attempts: 1 },
		text: 'Relay relay-9 claimed it, but the lease expired 2 s ago; the next relay that polls takes over.',
	},
	'scheduled retry': {
		message: { attempts: 2, dueAt: NOW + 12_000, error: ERROR },
		text: 'Next attempt in 12 s, after 2 failed attempts (HttpError: HTTP 503).',
	},
	'scheduled retry without a relay': {
		message: { attempts: 2, dueAt: NOW + 12_000, error: ERROR },
		relays: [],
		text: 'Next attempt in 12 s, after 2 failed attempts (HttpError: HTTP 503). Also, no relay is running.',
	},
	'scheduled by notBefore': {
		message: { dueAt: NOW + 10_800_000 },
		text: 'Scheduled for 2026-05-15T15:00:00.000Z (in 3 h).',
	},
	'circuit open': {
		message: {},
		circuits: [circuit()],
		text: "Due, but destination 'billing' is paused: its circuit is open after too many failures; the next probe is in 12 s.",
	},
	'paused by Retry-After': {
		message: {},
		circuits: [circuit({ state: 'closed', reason: 'retry-after', pausedForMs: 240_000 })],
		text: "Due, but destination 'billing' is paused: it returned Retry-After; sending resumes in 4 min.",
	},
	'probe in flight': {
		message: {},
		circuits: [circuit({ state: 'half-open', reason: 'probe' })],
		text: "Due, but destination 'billing' is paused: a relay is probing it after an outage; the probe ends within 12 s.",
	},
	'probe due': {
		message: {},
		circuits: [circuit({ pausedForMs: 0 })],
		text: "Due, but destination 'billing' is paused: its circuit is open; the next relay that polls probes it.",
	},
	'paused by an operator until resumed': {
		message: {},
		circuits: [circuit({ reason: 'operator', pausedForMs: Infinity, operatorPause: PAUSED })],
		text: "Due, but destination 'billing' is paused by ada@ops (deploy), until it is resumed.",
	},
	'paused by an operator without a reason, for a time': {
		message: {},
		circuits: [
			circuit({
				state: 'closed',
				reason: 'operator',
				pausedForMs: 60_000,
				operatorPause: { ...PAUSED, reason: null, pausedForMs: 60_000 },
			}),
		],
		text: "Due, but destination 'billing' is paused by ada@ops, for another 60 s.",
	},
	'paused by an operator and not due': {
		message: { dueAt: NOW + 60_000 },
		circuits: [circuit({ reason: 'operator', pausedForMs: Infinity, operatorPause: PAUSED })],
		text: "Scheduled for 2026-05-15T12:01:00.000Z (in 60 s). Also, destination 'billing' is paused by ada@ops (deploy), until it is resumed.",
	},
	'closed circuit': {
		message: {},
		circuits: [circuit({ state: 'closed', pausedForMs: 0, reason: null })],
		text: 'Due for 1 s and next: a relay claims it within a moment.',
	},
	'no relay is running': {
		message: { dueAt: NOW - 180_000 },
		relays: [],
		circuits: [circuit()],
		text: "Due for 3 min, but no relay is running. Start a relay that serves 'billing'.",
	},
	'no relay serves its destination': {
		message: { dueAt: null, createdAt: NOW - 12_000 },
		relays: [relay({ destinations: ['mail'] })],
		text: "Due for 12 s, but no running relay serves 'billing'. Start a relay that serves 'billing'.",
	},
	'served by a wildcard': {
		message: {},
		relays: [relay({ destinations: ['*'] })],
		text: 'Due for 1 s and next: a relay claims it within a moment.',
	},
	'behind a scheduled retry of the same key': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', dueAt: NOW + 12_000, attempts: 1, error: ERROR })],
		text: `Due. If 'billing' keeps order, it waits for message ${idOf(7)} with the same key 'k', which is due in 12 s after HttpError: HTTP 503.`,
	},
	'behind an in-flight message of the same key': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', status: 'processing', lockedBy: 'relay-1' })],
		text: `Due. If 'billing' keeps order, it waits for message ${idOf(7)} with the same key 'k', which is in flight at relay relay-1.`,
	},
	'behind a message of the same key whose lease expired': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', lockedBy: 'relay-9', leaseUntil: NOW - 1 })],
		text: `Due. If 'billing' keeps order, it waits for message ${idOf(7)} with the same key 'k', which was claimed by relay relay-9, whose lease expired.`,
	},
	'behind many messages of the same key': {
		message: { key: 'k' },
		others: Array.from({ length: 20 }, (_, index) => message({ id: idOf(index + 3), key: 'k' })),
		text: `Due. If 'billing' keeps order, it waits for message ${idOf(3)} with the same key 'k', which is also due.`,
	},
	'behind a dead letter of the same key': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k', blocks: true })],
		text: `Due, but blocked by dead letter ${idOf(7)} with the same key 'k' (HttpError: HTTP 503). Replay or discard that one.`,
	},
	'third behind a blocking dead letter (regression: named the second)': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k', blocks: true }), message({ id: idOf(8), key: 'k' })],
		text: `Due, but blocked by dead letter ${idOf(7)} with the same key 'k' (HttpError: HTTP 503). Replay or discard that one.`,
	},
	'an old dead letter of the same key that blocks nothing': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k' })],
		text: 'Due for 1 s and next: a relay claims it within a moment.',
	},
	'behind a message of the same key, after a dead letter that blocks nothing': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k' }), message({ id: idOf(8), key: 'k' })],
		text: `Due. If 'billing' keeps order, it waits for message ${idOf(8)} with the same key 'k', which is also due.`,
	},
	'first of its key': {
		message: { key: 'k' },
		others: [
			message({ id: idOf(70), key: 'k', dueAt: NOW + 1 }),
			message({ id: idOf(7), key: 'other', dueAt: NOW + 1 }),
		],
		text: 'Due for 1 s and next: a relay claims it within a moment.',
	},
	'others ahead of it': {
		message: { dueAt: NOW - 3_000 },
		others: [message({ id: idOf(7) }), message({ id: idOf(8) })],
		relays: [relay(), relay({ id: 'relay-2' })],
		text: "Due for 3 s; up to 2 other messages for 'billing' may be ahead of it. Throughput: 80 msg/s by 2 relays.",
	},
	'one other ahead of it': {
		message: { dueAt: NOW - 3_000 },
		others: [message({ id: idOf(7) })],
		text: "Due for 3 s; up to 1 other message for 'billing' may be ahead of it. Throughput: 40 msg/s by 1 relay.",
	},
	'more than the count limit ahead of it': {
		message: {},
		others: Array.from({ length: 2_000 }, (_, index) => message({ id: idOf(index + 100) })),
		text: "Due for 1 s; 999 or more other messages for 'billing' may be ahead of it. Throughput: 40 msg/s by 1 relay.",
	},
	'due for long with nothing ahead of it': {
		message: { dueAt: NOW - 180_000 },
		text: "Due for 3 min with no message ahead of it: the relay has no free slot (concurrency, maxConcurrent or rate of 'billing'), or cannot reach the database.",
	},
	'poison candidate': {
		message: { crashes: 2, attempts: 2 },
		text: 'Poison candidate: 2 processes crashed while it was claimed. It runs alone when it is next, and becomes a dead letter if that crashes its process repeatedly.',
	},
	expired: {
		message: { expiresAt: NOW - 180_000 },
		text: 'Expired 3 min ago; it becomes a dead letter when a relay claims it.',
	},
}

describe('explainMessage', () => {
	it.each(Object.entries(cases))('explains the state of a message: %s', async (_, { text, ...given }) => {
		expect(await ask(given)).toBe(text)
	})

	it('explains a discarded message that is only in the history', async () => {
		const store = new FakeStore([letter(50, { endedAt: NOW - 12_000 })])
		store.countDead = async () => ({ count: 0, isCapped: false })
		expect(await explainMessage(store, store, idOf(50))).toBe(
			'Discarded 12 s ago as a dead letter; it will not be sent (last error: HttpError: HTTP 503).',
		)
	})

	it('says of a message that is only in the attempt log that it was sent', async () => {
		const store = new FakeStore()
		const attempt = (number: number, outcome: AttemptRow['outcome']): AttemptRow => ({
			messageId: idOf(50),
			destination: 'billing',
			relay: 'relay-1',
			attempt: number,
			outcome,
			startedAt: NOW - 20_000 + number * 2_000,
			durationMs: 1_000,
			statusCode: null,
			errorType: null,
			errorMessage: null,
			response: null,
		})
		store.attemptRows = [attempt(1, 'retry'), attempt(2, 'retry')]
		expect(await explainMessage(store, store, idOf(50))).toContain('not found')
		store.attemptRows.push(attempt(3, 'sent'), attempt(1, 'stopped'))
		expect(await explainMessage(store, store, idOf(50))).toBe(
			'Sent 13 s ago on attempt 3. The message is not in the history.',
		)
	})

	it('explains unknown and invalid ids', async () => {
		const store = new FakeStore()
		for (const id of [idOf(99), 'x', ''])
			expect(await explainMessage(store, store, id)).toBe(
				`Message ${id} not found: it was sent and no history is kept, it was discarded, or its transaction was not committed.`,
			)
	})

	it('truncates long errors', async () => {
		const error = { ...ERROR, message: `${'x'.repeat(400)}.` }
		const text = await ask({ message: { attempts: 1, dueAt: NOW + 5_000, error } })
		expect(text.length).toBeLessThan(300)
		expect(text).toMatch(/x\.\.\.\)\.$/)
		expect(
			await ask({ message: { attempts: 1, dueAt: NOW + 5_000, error: { ...ERROR, message: '' } } }),
		).toBe('Next attempt in 5 s, after 1 failed attempt (HttpError).')
	})
})
