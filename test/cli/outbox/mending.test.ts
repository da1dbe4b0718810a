import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { bury, enqueue } from './letters.ts'
import { LATER, only, shopForEach } from './shop.ts'
import { folder } from './terminal.ts'

const shop = shopForEach()

describe('retry', () => {
	test('makes what waits due now, by filter or by id', async () => {
		const [id] = await enqueue(shop.outbox, 'billing', 3, { notBefore: LATER })
		await enqueue(shop.outbox, 'mail', 1, { notBefore: LATER })
		expect(await shop.cli(`retry ${id}`)).toMatchObject({ code: 0, stdout: '1 message is due now\n' })
		await shop.cli('retry --destination billing')
		expect((await shop.outbox.stats()).totals).toMatchObject({ due: { count: 3 }, waiting: { count: 1 } })
		await shop.cli('retry --all')
		expect((await shop.outbox.stats()).totals).toMatchObject({ due: { count: 4 }, waiting: { count: 0 } })
	})

	test('does nothing when it is not said to what, or when one of the ids is dead', async () => {
		const [id] = await enqueue(shop.outbox, 'mail', 1, { notBefore: LATER })
		const [dead] = await enqueue(shop.outbox, 'billing', 1)
		await bury(shop.outbox.store, 'billing', new Error('no'))
		expect(await shop.cli('retry')).toMatchObject({ code: 2 })
		expect(await shop.cli('retry --all --topic order.created')).toMatchObject({ code: 2 })
		const { code, stderr } = await shop.cli(`retry ${id} ${dead}`)
		expect(code).toBe(3)
		expect(stderr).toContain(`${dead} is a dead letter; takes one that waits in the queue`)
		expect((await shop.outbox.stats()).totals).toMatchObject({ due: { count: 0 } })
	})
})

describe('replay', () => {
	beforeEach(async () => {
		await enqueue(shop.outbox, 'billing', 3)
		await bury(shop.outbox.store, 'billing', new Error('no such account'))
		await enqueue(shop.outbox, 'mail', 2)
		await bury(shop.outbox.store, 'mail', new Error('mailbox full'))
	})
	const dead = async () => (await shop.outbox.stats()).totals.dead.count

	test('puts back what matches, and all only when that is said', async () => {
		expect(await shop.cli('replay')).toMatchObject({ code: 2 })
		expect(await shop.cli('replay --destination mail')).toMatchObject({
			code: 0,
			stdout: '2 dead letters were replayed\n',
		})
		expect(await dead()).toBe(3)
		expect((await shop.json('replay --all')).data).toMatchObject({ replayed: 3, stopped: false })
		expect(await dead()).toBe(0)
	})

	test('puts one back with another payload', async () => {
		const { id } = only(await shop.outbox.dead.list({ destination: 'billing' }))
		const mended = join(folder(), 'mended.json')
		writeFileSync(mended, '\uFEFF{ "number": 42 }')
		expect(await shop.cli(`replay ${id} --payload ${mended}`)).toMatchObject({ code: 0 })
		expect(await shop.outbox.find(id)).toMatchObject({ status: 'pending', payload: { number: 42 } })
	})

	test.each([
		['a file that is not there', 'no-such.json', 3, "there is no file 'no-such.json'"],
		['a file without JSON in it', 'package-lock', 2, 'is no JSON'],
	])('touches nothing for %s', async (_, name, code, told) => {
		const path = name === 'package-lock' ? join(folder(), 'broken.json') : name
		if (path !== name) writeFileSync(path, '{ number: 42 }')
		const { id } = only(await shop.outbox.dead.list())
		const ran = await shop.cli(`replay ${id} --payload ${path}`)
		expect(ran).toMatchObject({ code, stdout: '' })
		expect(ran.stderr).toContain(told)
		expect(await dead()).toBe(5)
	})

	test('takes a payload for one message only', async () => {
		expect(await shop.cli('replay --all --payload -')).toMatchObject({ code: 2 })
	})

	test('with a canary stops after the first when no relay is heard of, as exit code 4', async () => {
		const { code, data } = await shop.json('replay --destination billing --canary --timeout 50ms')
		expect(code).toBe(4)
		expect(data).toMatchObject({ replayed: 1, stopped: true, stoppedBy: 'nothing-heard' })
		expect(await dead()).toBe(4)
	})
})

describe('discard', () => {
	beforeEach(async () => {
		await enqueue(shop.outbox, 'billing', 3)
		await bury(shop.outbox.store, 'billing', new Error('no such account'), 'expired')
	})

	test('only says how many it would be, until --yes is given', async () => {
		const { code, stdout, stderr } = await shop.cli('discard --cause expired')
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain('this would discard 3 dead letters\nAdd --yes to do it.')
		expect((await shop.outbox.dead.count()).count).toBe(3)
		expect(await shop.cli('discard --cause expired --yes')).toMatchObject({
			code: 0,
			stdout: '3 dead letters were discarded\n',
		})
		expect((await shop.outbox.dead.count()).count).toBe(0)
	})

	test('takes away everything only when that is said', async () => {
		expect(await shop.cli('discard --yes')).toMatchObject({ code: 2 })
		expect((await shop.outbox.dead.count()).count).toBe(3)
		expect((await shop.json('discard --all --yes')).data).toEqual({ discarded: 3, stopped: false })
	})

	test('keeps them as history when asked to', async () => {
		const { id } = only(await shop.outbox.dead.list())
		await shop.cli(`discard ${id} --yes --keep-history`)
		expect(await shop.outbox.find(id)).toMatchObject({ endedAt: expect.any(Date) })
		expect((await shop.outbox.dead.count()).count).toBe(2)
	})
})
