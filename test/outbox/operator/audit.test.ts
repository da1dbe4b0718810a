import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { Outbox, Relay } from 'yaoki/outbox'
import { setup, type TestSystem } from '../relay/setup.ts'

/** Enqueues messages that become dead letters. */
async function addDead(system: TestSystem, count: number): Promise<readonly string[]> {
	const deliver = () => {
		throw permanent(new Error('no'))
	}
	const relay = await system.relay({ jobs: { deliver, circuitBreaker: false } })
	const ids = await system.enqueue(count)
	await system.clock.advance(60_000)
	expect((await system.outbox.dead.count()).count).toBe(count)
	const stopped = relay.stop()
	await system.clock.advance(1_000)
	await stopped
	return ids
}

test('replay, edit and discard of dead letters are recorded with who, why and the original payload', async () => {
	await using system = await setup()
	const { outbox } = system
	const [first = '', second = '', third = ''] = await addDead(system, 3)
	await outbox.dead.replay({ ids: [first] }, { by: 'ada@ops', reason: 'fixed' })
	await outbox.dead.edit(second, { payload: 'new', headers: { a: 'b' } }, { by: 'bob@ops' })
	await outbox.dead.discard({ ids: [third] })
	const at = new Date(system.clock.wallNow())
	const message = { at, destination: 'jobs', topic: 'jobs', key: undefined, cause: 'permanent', headers: {} }
	const unnamed = { reason: undefined, changes: undefined }
	expect(await outbox.audit()).toEqual([
		{
			...message,
			...unnamed,
			id: 3,
			action: 'discard',
			messageId: third,
			payload: 3,
			by: expect.stringMatching(/^.+@.+$/),
		},
		{
			...message,
			...unnamed,
			id: 2,
			action: 'edit',
			messageId: second,
			payload: 2,
			by: 'bob@ops',
			changes: { payload: 'new', headers: { a: 'b' } },
		},
		{
			...message,
			...unnamed,
			id: 1,
			action: 'replay',
			messageId: first,
			payload: 1,
			by: 'ada@ops',
			reason: 'fixed',
		},
	])
	expect(await outbox.audit({ messageId: second.toUpperCase() })).toHaveLength(1)
})

test('a bulk replay of thousands stays in batches of a thousand, with a record per message', async () => {
	await using system = await setup()
	await addDead(system, 2_500)
	const batches: number[] = []
	system.outbox.subscribe((event) => event.type === 'outbox_replayed' && batches.push(event.count))
	const replayed = system.outbox.dead.replay({}, { all: true, by: 'ada@ops' })
	await system.clock.advance(1_000)
	expect(await replayed).toMatchObject({ replayed: 2_500 })
	expect(batches).toEqual([1_000, 1_000, 500])
	expect(await system.outbox.audit({ by: 'ada@ops' }, { limit: 10_000 })).toHaveLength(2_500)
})

test('relays delete records after auditForMs, 90 days by default', async () => {
	await using system = await setup()
	const { store, clock } = system
	const DAY = 86_400_000
	await system.outbox.pause('jobs')
	const short = new Outbox({ store, outsideTransaction: 'allow', runtime: clock, auditForMs: 5 * DAY })
	const options = { destinations: { mail: system.sends() }, runtime: clock, pollMs: DAY, leaseMs: DAY }
	await clock.advance(4 * DAY)
	for (const [outbox, expected] of [
		[system.outbox, 1],
		[short, 1],
	] as const) {
		const relay = new Relay(outbox, options)
		await relay.start()
		await clock.advance(2_000)
		expect(await outbox.audit()).toHaveLength(expected)
		const stopped = relay.stop()
		await clock.advance(10)
		await stopped
	}
	await clock.advance(2 * DAY)
	const relay = new Relay(short, options)
	await relay.start()
	await clock.advance(2_000)
	expect(await short.audit()).toEqual([])
	const stopped = relay.stop()
	await clock.advance(10)
	await stopped
	expect(system.outbox.auditForMs).toBe(90 * DAY)
})

test('rejects invalid filters, pages and operators', async () => {
	await using system = await setup()
	const { outbox } = system
	const invalid = (option: string) => ({ code: 'YAOKI_INVALID_OPTION', optionPath: option })
	const invalidField = (argument: string) => ({ code: 'YAOKI_INVALID_ARGUMENT', argument })
	await expect(outbox.audit(5 as never)).rejects.toMatchObject(invalidField('filter'))
	// @ts-expect-error an unknown action
	await expect(outbox.audit({ action: 'delete' })).rejects.toMatchObject(invalidField('filter.action'))
	await expect(outbox.audit({ messageId: 'x' })).rejects.toMatchObject(invalidField('filter.messageId'))
	await expect(outbox.audit({}, { limit: 0 })).rejects.toMatchObject(invalid('limit'))
	await expect(outbox.audit({}, { before: 1.5 })).rejects.toMatchObject(invalid('before'))
	await expect(outbox.dead.discard({ topic: 'x' }, { by: '' })).rejects.toMatchObject(invalid('by'))
	await expect(outbox.dead.replay({ topic: 'x' }, { reason: '\0' })).rejects.toMatchObject(invalid('reason'))
	const { store } = system
	expect(() => new Outbox({ store, auditForMs: 0 })).toThrow(expect.objectContaining(invalid('auditForMs')))
	expect(new Outbox({ store, auditForMs: Infinity }).auditForMs).toBe(Infinity)
})
