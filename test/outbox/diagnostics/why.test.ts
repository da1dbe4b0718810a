import { describe, expect, it } from 'vitest'
import { whyNotSent } from '../../../src/outbox/diagnostics/why.ts'
import type { DestinationCircuit, RelayRow, StoredMessage } from '../../../src/outbox/store/rows.ts'
import { FakeStore, gate, idOf, letter, message, NOW, relay } from './fake-store.ts'

const ERROR = { type: 'HttpError', message: 'HTTP 503', fingerprint: 'aaaaaaaaaaaa' }

interface Case {
	readonly message: Partial<StoredMessage>
	readonly others?: readonly StoredMessage[]
	readonly relays?: readonly RelayRow[]
	readonly gates?: readonly DestinationCircuit[]
	readonly says: string
}

const ask = ({ message: given, others = [], relays = [relay()], gates = [] }: Omit<Case, 'says'>) => {
	const store = new FakeStore([message({ id: idOf(50), ...given }), ...others])
	store.relayRows = relays
	store.gateRows = gates
	return whyNotSent(store, idOf(50))
}

const cases: Record<string, Case> = {
	'sent and kept as history': {
		message: { status: 'sent', attempts: 2, endedAt: NOW - 180_000 },
		says: 'It was sent 3 min ago, at attempt 2.',
	},
	'sent, but nobody knows when': {
		message: { status: 'sent', attempts: 1 },
		says: 'It was sent some time ago, at attempt 1.',
	},
	'dead, for its retries were used up': {
		message: {
			status: 'dead',
			cause: 'retries-exhausted',
			attempts: 6,
			endedAt: NOW - 7_200_000,
			error: ERROR,
		},
		says: 'It became a dead letter 2 h ago, for its retries were used up after 6 attempts: HttpError: HTTP 503; mend the cause and replay it, or discard it.',
	},
	'dead, for no retry helps': {
		message: { status: 'dead', cause: 'permanent', attempts: 1, endedAt: NOW - 12_000, error: ERROR },
		says: 'It became a dead letter 12 s ago, for no retry would have helped after attempt 1: HttpError: HTTP 503; mend the cause and replay it, or discard it.',
	},
	'dead, for it expired': {
		message: { status: 'dead', cause: 'expired', endedAt: NOW - 12_000, expiresAt: NOW - 12_000 },
		says: 'It became a dead letter 12 s ago, for its time was over at 2026-05-15T11:59:48.000Z before it was sent: replay it with a later expiresAt, or discard it.',
	},
	'dead, for it expired between retries': {
		message: { status: 'dead', cause: 'expired', endedAt: NOW - 12_000, error: ERROR },
		says: 'It became a dead letter 12 s ago, for its time was over before it was sent (latest failure: HttpError: HTTP 503): replay it with a later expiresAt, or discard it.',
	},
	'dead, for it kills processes': {
		message: { status: 'dead', cause: 'crashed', crashes: 3, endedAt: NOW - 12_000 },
		says: 'It became a dead letter 12 s ago, for 3 processes died while they had it; find out what in it kills its handler before it is replayed, or discard it.',
	},
	'dead, for it was parked': {
		message: { status: 'dead', cause: 'predecessor-dead', key: 'k', endedAt: NOW - 12_000 },
		others: [letter(7, { key: 'k' })],
		says: `It became a dead letter 12 s ago, for it was behind a dead letter of the same key 'k' (${idOf(7)}, HttpError: HTTP 503): replay that one first and then this one.`,
	},
	'dead and parked behind one that is gone': {
		message: { status: 'dead', cause: 'predecessor-dead', key: 'k' },
		says: "It became a dead letter, for it was behind a dead letter of the same key 'k': replay that one first and then this one.",
	},
	'in flight': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 57_000,
			attempts: 1,
		},
		says: 'It is in flight at relay relay-1 for 3 s, attempt 1.',
	},
	'in flight after a failure': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			leaseUntil: NOW + 57_000,
			attempts: 2,
			error: ERROR,
		},
		says: 'It is in flight at relay relay-1, attempt 2, after HttpError: HTTP 503.',
	},
	'its relay died': {
		message: {
			status: 'processing',
			lockedBy: 'relay-9',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 12_000,
			attempts: 1,
		},
		says: 'Relay relay-9 had it and seems to have died, so another takes it over when its lease ends in 12 s.',
	},
	'its relay is not heard of any more, and there is no other': {
		message: {
			status: 'processing',
			lockedBy: 'relay-1',
			lockedAt: NOW - 3_000,
			leaseUntil: NOW + 12_000,
			attempts: 1,
		},
		relays: [relay({ seenAt: NOW - 31_000 })],
		says: 'Relay relay-1 had it and seems to have died, so another takes it over when its lease ends in 12 s, and besides no relay is running.',
	},
	'its lease is over': {
		message: { status: 'processing', lockedBy: 'relay-9', leaseUntil: NOW - 2_000, attempts: 1 },
		says: 'Relay relay-9 had it and its lease ended 2 s ago, so the next relay that looks takes it over.',
	},
	'waits for its retry': {
		message: { attempts: 2, dueAt: NOW + 12_000, error: ERROR },
		says: 'It waits for its retry in 12 s after failure 2: HttpError: HTTP 503.',
	},
	'waits for its retry without a relay': {
		message: { attempts: 2, dueAt: NOW + 12_000, error: ERROR },
		relays: [],
		says: 'It waits for its retry in 12 s after failure 2: HttpError: HTTP 503, and besides no relay is running.',
	},
	'not due before its time': {
		message: { dueAt: NOW + 10_800_000 },
		says: 'It is not due before its time, in 3 h (2026-05-15T15:00:00.000Z).',
	},
	'circuit open': {
		message: {},
		gates: [gate()],
		says: "It is due, but its destination 'billing' is held: too many messages failed there and its circuit is open for 12 s more.",
	},
	'asked to wait': {
		message: {},
		gates: [gate({ state: 'closed', reason: 'retry-after', pausedForMs: 240_000 })],
		says: "It is due, but its destination 'billing' is held: it asked by Retry-After to be left alone for 4 min more.",
	},
	'a probe is under way': {
		message: {},
		gates: [gate({ state: 'half-open', reason: 'probe' })],
		says: "It is due, but its destination 'billing' is held: after an outage one message is tried to see whether it is back, for 12 s more.",
	},
	'a probe is to come': {
		message: {},
		gates: [gate({ pausedForMs: 0 })],
		says: "It is due, but its destination 'billing' is held: its circuit is open, and the next relay that looks sends one message to see whether it is back.",
	},
	'a gate that is closed again is not in the way': {
		message: {},
		gates: [gate({ state: 'closed', pausedForMs: 0, reason: null })],
		says: 'It has been due for 1 s and is next: a relay takes it within a moment.',
	},
	'no relay is running': {
		message: { dueAt: NOW - 180_000 },
		relays: [],
		gates: [gate()],
		says: "It has been due for 3 min and no relay is running: start one that serves 'billing'.",
	},
	'no relay serves its destination': {
		message: { dueAt: null, createdAt: NOW - 12_000 },
		relays: [relay({ destinations: ['mail'] })],
		says: "It has been due for 12 s and none of the relays that run serves 'billing': start one that serves 'billing'.",
	},
	'a relay serves whatever nobody else does': {
		message: {},
		relays: [relay({ destinations: ['*'] })],
		says: 'It has been due for 1 s and is next: a relay takes it within a moment.',
	},
	'behind one of the same key that waits for its retry': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', dueAt: NOW + 12_000, attempts: 1, error: ERROR })],
		says: `It is due and, if 'billing' keeps order, waits behind message ${idOf(7)} of the same key 'k', which is due in 12 s after HttpError: HTTP 503.`,
	},
	'behind one of the same key that is in flight': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', status: 'processing', lockedBy: 'relay-1' })],
		says: `It is due and, if 'billing' keeps order, waits behind message ${idOf(7)} of the same key 'k', which is in flight at relay relay-1.`,
	},
	'behind one of the same key whose relay died': {
		message: { key: 'k' },
		others: [message({ id: idOf(7), key: 'k', lockedBy: 'relay-9', leaseUntil: NOW - 1 })],
		says: `It is due and, if 'billing' keeps order, waits behind message ${idOf(7)} of the same key 'k', which relay relay-9 left behind when it died.`,
	},
	'behind many of the same key': {
		message: { key: 'k' },
		others: Array.from({ length: 20 }, (_, index) => message({ id: idOf(index + 3), key: 'k' })),
		says: `It is due and, if 'billing' keeps order, waits behind message ${idOf(3)} of the same key 'k', which is due as well.`,
	},
	'behind a dead letter of the same key': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k', blocks: true })],
		says: `It is due and held up by dead letter ${idOf(7)} of the same key 'k', which died of HttpError: HTTP 503: replay or discard that one.`,
	},
	'the third behind a dead letter, which said that the second was in its way': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k', blocks: true }), message({ id: idOf(8), key: 'k' })],
		says: `It is due and held up by dead letter ${idOf(7)} of the same key 'k', which died of HttpError: HTTP 503: replay or discard that one.`,
	},
	'an old dead letter of the same key that holds nobody up, which was blamed where no order is kept': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k' })],
		says: 'It has been due for 1 s and is next: a relay takes it within a moment.',
	},
	'behind another of the same key, after a dead letter that holds nobody up': {
		message: { key: 'k' },
		others: [letter(7, { key: 'k' }), message({ id: idOf(8), key: 'k' })],
		says: `It is due and, if 'billing' keeps order, waits behind message ${idOf(8)} of the same key 'k', which is due as well.`,
	},
	'first of its key': {
		message: { key: 'k' },
		others: [
			message({ id: idOf(70), key: 'k', dueAt: NOW + 1 }),
			message({ id: idOf(7), key: 'other', dueAt: NOW + 1 }),
		],
		says: 'It has been due for 1 s and is next: a relay takes it within a moment.',
	},
	'others are before it': {
		message: { dueAt: NOW - 3_000 },
		others: [message({ id: idOf(7) }), message({ id: idOf(8) })],
		relays: [relay(), relay({ id: 'relay-2' })],
		says: "It has been due for 3 s and up to 2 others for 'billing' may be before it, at 80 sent a second by 2 relays.",
	},
	'one other is before it': {
		message: { dueAt: NOW - 3_000 },
		others: [message({ id: idOf(7) })],
		says: "It has been due for 3 s and up to 1 other for 'billing' may be before it, at 40 sent a second by 1 relay.",
	},
	'very many are before it': {
		message: {},
		others: Array.from({ length: 2_000 }, (_, index) => message({ id: idOf(index + 100) })),
		says: "It has been due for 1 s and up to 999 or more others for 'billing' may be before it, at 40 sent a second by 1 relay.",
	},
	'due for long and first': {
		message: { dueAt: NOW - 180_000 },
		says: "It has been due for 3 min and nothing is before it, so its relay has no room (concurrency, maxConcurrent or rate of 'billing'), or can not reach the database.",
	},
	'suspect of crashes': {
		message: { crashes: 2, attempts: 2 },
		says: 'It is suspect, for processes died with it (2 times so far), so it runs alone when its turn comes and becomes a dead letter if that goes on.',
	},
	expired: {
		message: { expiresAt: NOW - 180_000 },
		says: 'It expired 3 min ago and becomes a dead letter as soon as a relay comes to it.',
	},
}

describe('why a message was not sent', () => {
	it.each(Object.entries(cases))('%s', async (_, { says, ...given }) => {
		expect(await ask(given)).toBe(says)
	})

	it('is told of one that was discarded and is known by the history only', async () => {
		const store = new FakeStore([letter(50, { endedAt: NOW - 12_000 })])
		store.countDead = async () => ({ count: 0, isCapped: false })
		expect(await whyNotSent(store, idOf(50))).toBe(
			'It was a dead letter and was discarded 12 s ago, so it will not be sent; its latest failure was HttpError: HTTP 503.',
		)
	})

	it('is told of what is not known, whatever was asked for', async () => {
		for (const id of [idOf(99), 'x', ''])
			expect(await whyNotSent(new FakeStore(), id)).toBe(
				`No message ${id} is known: it was sent and no history is kept of it, it was discarded, or its transaction was never committed.`,
			)
	})

	it('is told in one line, whatever the error said', async () => {
		const error = { ...ERROR, message: `${'x'.repeat(400)}.` }
		const text = await ask({ message: { attempts: 1, dueAt: NOW + 5_000, error } })
		expect(text.length).toBeLessThan(300)
		expect(text).toMatch(/x\.\.\.\.$/)
		expect(
			await ask({ message: { attempts: 1, dueAt: NOW + 5_000, error: { ...ERROR, message: '' } } }),
		).toBe('It waits for its retry in 5 s after failure 1: HttpError.')
	})
})
