import { expect, test } from 'vitest'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'
import { z } from 'zod'

test('an edited payload is validated by the schema of its topic', async () => {
	const store = sqliteOutboxStore(':memory:')
	const topics = { 'order.created': z.object({ total: z.coerce.number() }) }
	const outbox = new Outbox({ store, topics, outsideTransaction: 'allow' })
	await outbox.migrate()
	const { id } = await outbox.enqueue({ topic: 'order.created', payload: { total: 1 } })
	const lane = { destination: 'order.created', limit: 1, since: 0, isOrdered: false, isProbe: false }
	await store.claim({ owner: 'r', leaseMs: 1_000, targets: [lane], poisonCandidates: false, poisonAfter: 2 })
	const death = {
		type: 'dead',
		id,
		attempt: 1,
		cause: 'permanent',
		error: null,
		afterDeadLetter: 'skip',
	} as const
	await store.settle('r', [death], false)

	await expect(outbox.dead.edit(id, { payload: { total: 'much' } })).rejects.toMatchObject({
		name: 'InvalidMessageError',
		topic: 'order.created',
		issues: [{ field: 'payload.total' }],
	})
	expect((await outbox.find(id))?.status).toBe('dead')
	// The schema's output is stored.
	await outbox.dead.edit(id, { payload: { total: '12' } })
	expect(await outbox.find(id)).toMatchObject({ status: 'pending', payload: { total: 12 } })
	await outbox.close()
})
