import { expect, test } from 'vitest'
import { Outbox, type OutboxEvent, Relay } from 'yaoki/outbox'
import { setup } from '../relay/setup.ts'

/** An outbox with history, a relay that fails while `down`, and what the receiver got. */
async function open(historyForMs = 600_000) {
	const system = await setup()
	const { store, clock } = system
	const outbox = new Outbox({ store, outsideTransaction: 'allow', runtime: clock, historyForMs })
	const events: OutboxEvent[] = []
	outbox.subscribe((event) => events.push(event))
	const relay = new Relay(outbox, {
		destinations: { jobs: system.sends() },
		runtime: clock,
		// Only a wake-up starts a claim soon.
		pollMs: 300_000,
	})
	await relay.start()
	await clock.advance(10)
	return {
		...system,
		outbox,
		events,
		async [Symbol.asyncDispose]() {
			const stopped = relay.stop()
			await clock.advance(10)
			await stopped
			await system[Symbol.asyncDispose]()
		},
	}
}

test('a sent message is delivered again immediately, with the same id', async () => {
	await using system = await open()
	const { outbox, clock, sendings, events } = system
	const { id } = await outbox.enqueue({ topic: 'jobs', payload: 1 })
	await clock.advance(10)
	expect(await outbox.find(id)).toMatchObject({ status: 'sent', attempts: 1 })
	await outbox.resend(id.toUpperCase(), { by: 'ada', reason: 'lost' })
	await clock.advance(10)
	expect(sendings).toMatchObject([
		{ id, attempts: 1 },
		{ id, attempts: 1 },
	])
	expect(await outbox.find(id)).toMatchObject({ status: 'sent', attempts: 1 })
	expect(await outbox.audit()).toMatchObject([
		{ action: 'resend', by: 'ada', reason: 'lost', messageId: id, payload: 1, cause: undefined },
	])
	expect(events.slice(1)).toMatchObject([{ type: 'outbox_resent', count: 1 }])
})

test('without history the error names historyForMs', async () => {
	await using system = await open(0)
	const { outbox, clock, events } = system
	const { id } = await outbox.enqueue({ topic: 'jobs', payload: 1 })
	await clock.advance(10)
	await expect(outbox.resend(id)).rejects.toMatchObject({
		name: 'MessageNotSentError',
		code: 'YAOKI_MESSAGE_NOT_SENT',
		messages: [{ id, status: 'unknown' }],
		message: expect.stringContaining('Set historyForMs of the outbox'),
	})
	expect(events.map(({ type }) => type)).toEqual(['outbox_enqueued'])
})

test('a message whose history has expired is unknown', async () => {
	await using system = await open(600_000)
	const { outbox, clock } = system
	const { id } = await outbox.enqueue({ topic: 'jobs', payload: 1 })
	await clock.advance(700_000)
	await expect(outbox.resend(id)).rejects.toMatchObject({
		messages: [{ id, status: 'unknown' }],
		message: expect.stringContaining('sent messages are kept for 600000 ms (historyForMs)'),
	})
})

test('rejects messages that are queued, in flight, dead or discarded, and says what they are', async () => {
	await using system = await open()
	const { outbox, clock, store, sendings } = system
	const { id: pending } = await outbox.enqueue({ topic: 'none', payload: 1 })
	await expect(outbox.resend(pending)).rejects.toMatchObject({
		messages: [{ id: pending, status: 'pending' }],
		message: expect.stringContaining('Use retry'),
	})
	const target = { destination: 'none', limit: 9, since: 0, isOrdered: false, isProbe: false }
	const claim = { owner: 'r', leaseMs: 60_000, poisonCandidates: false, poisonAfter: 9 }
	const { rows } = await store.claim({ ...claim, targets: [target] })
	await expect(outbox.resend(pending)).rejects.toMatchObject({ messages: [{ status: 'processing' }] })
	const death = { type: 'dead', cause: 'permanent', error: null, afterDeadLetter: 'skip' } as const
	await store.settle('r', [{ ...death, id: pending, attempt: rows[0]?.attempt ?? 0 }], true)
	await expect(outbox.resend(pending)).rejects.toMatchObject({
		messages: [{ status: 'dead' }],
		message: expect.stringContaining('Replay it instead'),
	})
	await outbox.dead.discard({ ids: [pending] })
	await expect(outbox.resend(pending)).rejects.toMatchObject({ messages: [{ status: 'unknown' }] })
	await clock.advance(10)
	expect(sendings).toEqual([])
	expect(await outbox.audit({ action: 'resend' })).toEqual([])
})

test.each([
	['x', {}, { argument: 'id' }],
	['019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77', { all: true }, { optionPath: 'all' }],
	['019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77', { by: '' }, { optionPath: 'by' }],
])('rejects invalid arguments: %s %o', async (id, options, expected) => {
	await using system = await open()
	await expect(system.outbox.resend(id, options as object)).rejects.toMatchObject(expected)
})
