import { expect, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import { setup } from './setup.ts'

test('the relay deletes history after historyForMs', async () => {
	await using system = await setup()
	const { store, clock } = system
	const outbox = new Outbox({
		store,
		outsideTransaction: 'allow',
		runtime: clock,
		historyForMs: 300_000,
	})
	const relay = new Relay(outbox, { destinations: { jobs: system.sends() }, runtime: clock, pollMs: 60_000 })
	await relay.start()
	const { id } = await outbox.enqueue({ topic: 'jobs', payload: 1 })
	await clock.advance(200_000)
	expect(await outbox.find(id)).toMatchObject({ status: 'sent' })
	await clock.advance(200_000)
	expect(await outbox.find(id)).toBeUndefined()
	const stopped = relay.stop()
	await clock.advance(10)
	await stopped
	expect(clock.pendingTimers).toBe(0)
})

test('without history sent messages are deleted', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(100)
	expect(await system.outbox.find(id)).toBeUndefined()
})

test('the relay deletes expired dedupe keys, without history too', async () => {
	await using system = await setup()
	const { store, clock } = system
	const outbox = new Outbox({ store, outsideTransaction: 'allow', runtime: clock, dedupeForMs: 100_000 })
	const relay = new Relay(outbox, { destinations: { jobs: system.sends() }, runtime: clock, pollMs: 60_000 })
	await relay.start()
	const keys = (): unknown[] => store.database.prepare('SELECT dedupe_key FROM yaoki_outbox_dedupe').all()
	const enqueue = () => outbox.enqueue({ topic: 'jobs', payload: 1, dedupeKey: 'once' })
	await enqueue()
	await clock.advance(50_000)
	expect((await enqueue()).isDuplicate).toBe(true)
	expect(keys()).toHaveLength(1)
	await clock.advance(150_000)
	expect(keys()).toEqual([])
	expect((await enqueue()).isDuplicate).toBe(false)
	await clock.advance(10)
	expect(system.payloads()).toEqual([1, 1])
	const stopped = relay.stop()
	await clock.advance(10)
	await stopped
	expect(clock.pendingTimers).toBe(0)
})
