import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { Outbox, Relay } from 'yaoki/outbox'
import { type World, world } from '../relay/world.ts'

/** Enqueues messages that become dead letters. */
async function addDead(here: World, count: number): Promise<readonly string[]> {
	const deliver = () => {
		throw permanent(new Error('no'))
	}
	const relay = await here.relay({ jobs: { deliver, circuitBreaker: false } })
	const ids = await here.enqueue(count)
	await here.clock.advance(60_000)
	expect((await here.outbox.dead.count()).count).toBe(count)
	const stopped = relay.stop()
	await here.clock.advance(1_000)
	await stopped
	return ids
}

test('replay, edit and discard of dead letters are recorded with who, why and the original payload', async () => {
	await using here = await world()
	const { outbox } = here
	const [first = '', second = '', third = ''] = await addDead(here, 3)
	await outbox.dead.replay({ ids: [first] }, { by: 'ada@ops', reason: 'fixed' })
	await outbox.dead.edit(second, { payload: 'new', headers: { a: 'b' } }, { by: 'bob@ops' })
	await outbox.dead.discard({ ids: [third] })
	const at = new Date(here.clock.wallNow())
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
	await using here = await world()
	await addDead(here, 2_500)
	const batches: number[] = []
	here.outbox.subscribe((event) => event.type === 'outbox_replayed' && batches.push(event.count))
	const replayed = here.outbox.dead.replay({}, { all: true, by: 'ada@ops' })
	await here.clock.advance(1_000)
	expect(await replayed).toMatchObject({ replayed: 2_500 })
	expect(batches).toEqual([1_000, 1_000, 500])
	expect(await here.outbox.audit({ by: 'ada@ops' }, { limit: 10_000 })).toHaveLength(2_500)
})

test('relays delete records after auditForMs, 90 days by default', async () => {
	await using here = await world()
	const { store, clock } = here
	const DAY = 86_400_000
	await here.outbox.pause('jobs')
	const short = new Outbox({ store, outsideTransaction: 'allow', runtime: clock, auditForMs: 5 * DAY })
	const options = { destinations: { mail: here.sends() }, runtime: clock, pollMs: DAY, leaseMs: DAY }
	await clock.advance(4 * DAY)
	for (const [outbox, expected] of [
		[here.outbox, 1],
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
	expect(here.outbox.auditForMs).toBe(90 * DAY)
})

test('rejects invalid filters, pages and operators', async () => {
	await using here = await world()
	const { outbox } = here
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
	const { store } = here
	expect(() => new Outbox({ store, auditForMs: 0 })).toThrow(expect.objectContaining(invalid('auditForMs')))
	expect(new Outbox({ store, auditForMs: Infinity }).auditForMs).toBe(Infinity)
})
