import { expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { Relay } from '../../../src/outbox/relay/relay.ts'
import { sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'

test('sends a message with a notBefore before 1970, and moves one with such an expiresAt to the dead letters', async () => {
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
	await outbox.migrate()
	const old = new Date('0001-01-01')
	const relay = new Relay(outbox, { destinations: { mail: () => {} } })
	const ended: unknown[] = []
	const bothEnded = new Promise<void>((resolve) => {
		relay.subscribe((event) => {
			if (event.type === 'relay_sent' || event.type === 'relay_dead_letter') ended.push(event.type)
			if (ended.length === 2) resolve()
		})
	})
	await outbox.enqueue([
		{ topic: 'mail', payload: 1, notBefore: old },
		{ topic: 'mail', payload: 2, expiresAt: old },
	])
	await relay.start()
	await bothEnded
	await relay.stop()
	expect(ended.toSorted()).toEqual(['relay_dead_letter', 'relay_sent'])
	expect(await outbox.dead.list()).toMatchObject([{ payload: 2, cause: 'expired' }])
	await outbox.close()
})
