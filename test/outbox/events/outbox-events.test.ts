import { expect, test, vi } from 'vitest'
import { Outbox, type OutboxEvent, sqliteOutboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'

async function setup() {
	const runtime = virtualRuntime({ startAt: 1_000 })
	const store = sqliteOutboxStore({ file: ':memory:', clock: () => runtime.wallNow() })
	const outbox = new Outbox({ name: 'orders', store, runtime, outsideTransaction: 'allow' })
	await outbox.migrate()
	const events: OutboxEvent[] = []
	const unsubscribe = outbox.subscribe((event) => events.push(event))
	return { outbox, store, runtime, events, unsubscribe, [Symbol.asyncDispose]: () => outbox.close() }
}

/** Moves all due messages to the dead letters. */
async function moveToDead(store: Awaited<ReturnType<typeof setup>>['store']): Promise<void> {
	const target = { destination: 'mail', limit: 100, since: 0, isOrdered: false, isProbe: false }
	const request = { owner: 'r', leaseMs: 1_000, targets: [target], poisonCandidates: false, poisonAfter: 2 }
	const { rows } = await store.claim(request)
	const dead = { type: 'dead', cause: 'permanent', error: null, afterDeadLetter: 'skip' } as const
	const settlements = rows.map(({ id, attempt }) => ({ ...dead, id, attempt }))
	await store.settle('r', settlements, false)
}

test('enqueue emits the number of messages, duplicates and topics', async () => {
	await using emitting = await setup()
	const { outbox, events } = emitting
	await outbox.enqueue([
		{ topic: 'mail', payload: 1, dedupeKey: 'one' },
		{ topic: 'mail', payload: 2, dedupeKey: 'one' },
		{ topic: 'sms', payload: 3 },
	])
	expect(events).toEqual([
		{
			type: 'outbox_enqueued',
			emitter: 'orders',
			timestamp: 1_000,
			count: 2,
			duplicates: 1,
			topics: { mail: 2, sms: 1 },
		},
	])
})

test('a failed enqueue emits nothing', async () => {
	await using emitting = await setup()
	await expect(emitting.outbox.enqueue({ topic: 'mail', payload: 1n })).rejects.toThrow('bigint')
	expect(emitting.events).toEqual([])
})

test('replay, edit and discard of dead letters emit the number of messages', async () => {
	await using emitting = await setup()
	const { outbox, store, events } = emitting
	const [first] = await outbox.enqueue([1, 2, 3].map((payload) => ({ topic: 'mail', payload })))
	await moveToDead(store)
	await outbox.dead.edit(first?.id ?? '', { payload: 4 })
	await outbox.dead.replay({}, { all: true })
	await moveToDead(store)
	await outbox.dead.discard({}, { all: true })
	expect(events.slice(1)).toMatchObject([
		{ type: 'outbox_replayed', count: 1 },
		{ type: 'outbox_replayed', count: 2 },
		{ type: 'outbox_discarded', count: 3 },
	])
})

test('retry emits the number of messages, and an unsubscribed listener receives nothing', async () => {
	await using emitting = await setup()
	const { outbox, events, unsubscribe } = emitting
	const message = { topic: 'mail', payload: 1, notBefore: new Date(60_000) }
	const { id } = await outbox.enqueue(message)
	expect(await outbox.retry({ ids: [id] })).toBe(1)
	unsubscribe()
	await outbox.enqueue(message)
	expect(events.map(({ type }) => type)).toEqual(['outbox_enqueued', 'outbox_retried'])
})

test('expire emits the number of messages that it ended', async () => {
	await using emitting = await setup()
	const { outbox, events } = emitting
	const notBefore = new Date(60_000)
	await outbox.enqueue([1, 2].map((payload) => ({ topic: 'mail', payload, notBefore })))
	expect(await outbox.expire({ destination: 'mail' })).toBe(2)
	expect(events.slice(1)).toMatchObject([{ type: 'outbox_expired', emitter: 'orders', count: 2 }])
})

test('a change of thousands of messages emits an event per batch of 1,000', async () => {
	await using emitting = await setup()
	const { outbox, runtime, events } = emitting
	const notBefore = new Date(60_000)
	const messages = Array.from({ length: 2_500 }, (_, payload) => ({ topic: 'mail', payload, notBefore }))
	const ids = (await outbox.enqueue(messages)).map(({ id }) => id)
	const retried = outbox.retry({ ids })
	await runtime.runUntilIdle()
	expect(await retried).toBe(2_500)
	expect(events.slice(1)).toMatchObject(
		[1_000, 1_000, 500].map((count) => ({ type: 'outbox_retried', count })),
	)
})

test('an exception of a listener is printed as a warning, and the message is enqueued', async () => {
	await using emitting = await setup()
	const { outbox, events } = emitting
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	outbox.subscribe(() => {
		throw new Error('a bug in a listener')
	})
	const { id } = await outbox.enqueue({ topic: 'mail', payload: 1 })
	expect(warn).toHaveBeenCalledOnce()
	warn.mockRestore()
	expect(await outbox.find(id)).toMatchObject({ id, status: 'pending' })
	expect(events).toHaveLength(1)
})
