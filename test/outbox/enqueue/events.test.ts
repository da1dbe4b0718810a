import { expect, test } from 'vitest'
import { Outbox, type OutboxEvent, sqliteOutboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'

async function open() {
	const runtime = virtualRuntime({ startAt: 1_000 })
	const store = sqliteOutboxStore({ file: ':memory:', clock: () => runtime.wallNow() })
	const outbox = new Outbox({ name: 'orders', store, runtime, outsideTransaction: 'allow' })
	await outbox.migrate()
	const events: OutboxEvent[] = []
	const unsubscribe = outbox.subscribe((event) => events.push(event))
	return { outbox, store, events, unsubscribe, [Symbol.asyncDispose]: () => outbox.close() }
}

/** Moves all due messages to the dead letters. */
async function moveToDead(store: Awaited<ReturnType<typeof open>>['store']): Promise<void> {
	const target = { destination: 'mail', limit: 100, since: 0, isOrdered: false, isProbe: false }
	const request = { owner: 'r', leaseMs: 1_000, targets: [target], poisonCandidates: false, poisonAfter: 2 }
	const { rows } = await store.claim(request)
	const dead = { type: 'dead', cause: 'permanent', error: null, afterDeadLetter: 'skip' } as const
	const settlements = rows.map(({ id, attempt }) => ({ ...dead, id, attempt }))
	await store.settle('r', settlements, false)
}

test('enqueue emits the number of messages, duplicates and topics', async () => {
	await using opened = await open()
	const { outbox, events } = opened
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
	await using opened = await open()
	await expect(opened.outbox.enqueue({ topic: 'mail', payload: 1n })).rejects.toThrow('bigint')
	expect(opened.events).toEqual([])
})

test('replay, edit and discard of dead letters emit the number of messages', async () => {
	await using opened = await open()
	const { outbox, store, events } = opened
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
	await using opened = await open()
	const { outbox, events, unsubscribe } = opened
	const message = { topic: 'mail', payload: 1, notBefore: new Date(60_000) }
	const { id } = await outbox.enqueue(message)
	expect(await outbox.retry({ ids: [id] })).toBe(1)
	unsubscribe()
	await outbox.enqueue(message)
	expect(events.map(({ type }) => type)).toEqual(['outbox_enqueued', 'outbox_retried'])
})
