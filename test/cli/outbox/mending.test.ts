import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { bury, enqueue, fail } from './letters.ts'
import { LATER, only, shopForEach } from './shop.ts'
import { folder } from './terminal.ts'

const shop = shopForEach()

describe('retry', () => {
	const totals = async () => (await shop.outbox.stats()).totals

	test('makes what waits for a retry due now, by filter or by id', async () => {
		const [id] = await enqueue(shop.outbox, 'billing', 3)
		await fail(shop.outbox.store, 'billing')
		await enqueue(shop.outbox, 'mail', 1)
		await fail(shop.outbox.store, 'mail')
		expect(await shop.cli(`retry ${id}`)).toMatchObject({ code: 0, stdout: '1 message is due now\n' })
		expect(await shop.cli(`retry ${id}`)).toMatchObject({
			...{ code: 0, stdout: 'none of these waits: they are due already\n' },
		})
		await shop.cli('retry --destination billing')
		expect(await totals()).toMatchObject({ due: { count: 3 }, scheduled: { count: 1 } })
		await shop.cli('retry --all')
		expect(await totals()).toMatchObject({ due: { count: 4 }, scheduled: { count: 0 } })
	})

	test.each(['--all', '--destination mail'])(
		'%s sent a reminder for tomorrow today: what was never tried becomes due by its id only',
		async (words) => {
			const [id] = await enqueue(shop.outbox, 'mail', 2, { notBefore: LATER })
			expect(await shop.cli(`retry ${words}`)).toMatchObject({
				...{ code: 0, stdout: 'no message that matches waits for a retry\n' },
			})
			expect(await totals()).toMatchObject({ due: { count: 0 }, scheduled: { count: 2 } })
			expect(await shop.cli(`retry ${id}`)).toMatchObject({ code: 0, stdout: '1 message is due now\n' })
			expect(await totals()).toMatchObject({ due: { count: 1 }, scheduled: { count: 1 } })
		},
	)

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

describe('replay of what has expired', () => {
	const AN_HOUR_AGO = new Date(Date.now() - 3_600_000)
	let stale: string
	let fresh: string

	/** Both are dead, and the time of one is over. */
	beforeEach(async () => {
		stale = only(await enqueue(shop.outbox, 'mail', 1, { expiresAt: AN_HOUR_AGO }))
		fresh = only(await enqueue(shop.outbox, 'mail', 1, { expiresAt: LATER }))
		await bury(shop.outbox.store, 'mail', new Error('mailbox full'))
	})
	const statusOf = async (id: string) => (await shop.outbox.find(id))?.status
	const payloadFile = () => {
		const path = join(folder(), 'mended.json')
		writeFileSync(path, '{ "number": 42 }')
		return path
	}

	test('was told to be "due now", and was dead again at once: by its id it is refused, and nothing is touched', async () => {
		const { code, stdout, stderr } = await shop.cli(`replay ${fresh} ${stale}`)
		expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
		expect(stderr).toContain(`${stale} expired 60 min ago: it would be dead again at once`)
		expect(stderr).toContain('--expires never')
		expect(await statusOf(fresh)).toBe('dead')
		expect(await shop.cli(`replay ${stale} --payload ${payloadFile()}`)).toMatchObject({ code: 4 })
		expect(await shop.outbox.find(stale)).toMatchObject({ status: 'dead', payload: { number: 0 } })
	})

	test.each(['--all', '--destination mail'])(
		'by %s leaves it, replays the others, and says so',
		async (words) => {
			const { code, stdout, stderr } = await shop.cli(`replay ${words}`)
			expect(code).toBe(4)
			expect(stdout).toBe('1 dead letter was replayed; 1 was left, for its time is over\n')
			expect(stderr).toContain('--expires 2h')
			expect([await statusOf(stale), await statusOf(fresh)]).toEqual(['dead', 'pending'])
			const again = await shop.json(`replay ${words}`)
			expect(again).toMatchObject({ code: 4, data: { replayed: 0, expired: 1 } })
		},
	)

	test('--expires gives another time to all that are chosen', async () => {
		const { code, stdout } = await shop.cli('replay --destination mail --expires 2098-01-01')
		expect(code).toBe(0)
		expect(stdout).toBe('2 dead letters were replayed, to expire at 2098-01-01T00:00:00.000Z\n')
		for (const id of [stale, fresh])
			expect(await shop.outbox.find(id)).toMatchObject({
				...{ status: 'pending', expiresAt: new Date('2098-01-01') },
			})
	})

	test('--expires never takes it away, also together with another payload', async () => {
		expect(await shop.cli(`replay ${stale} --expires never`)).toMatchObject({ code: 0 })
		expect(await shop.outbox.find(stale)).toMatchObject({ status: 'pending', expiresAt: undefined })
		expect(await shop.cli(`replay ${fresh} --expires never --payload ${payloadFile()}`)).toMatchObject({
			...{ code: 0, stdout: `${fresh} was changed, and is due now\n` },
		})
		expect(await shop.outbox.find(fresh)).toMatchObject({
			...{ status: 'pending', expiresAt: undefined, payload: { number: 42 } },
		})
	})

	test('--expires 2h counts from now', async () => {
		const before = Date.now()
		await shop.cli(`replay ${stale} --expires 2h`)
		const { expiresAt } = (await shop.outbox.find(stale)) ?? {}
		expect(expiresAt?.getTime()).toBeGreaterThanOrEqual(before + 7_200_000)
		expect(expiresAt?.getTime()).toBeLessThanOrEqual(Date.now() + 7_200_000)
	})

	test.each([
		['--all --expires soon', "--expires: got 'soon'"],
		['--all --expires 2020-01-01', "--expires: got '2020-01-01'"],
		['--all --expires never --canary', '--expires does not go with --canary'],
	])('%s can not be meant, and touches nothing', async (words, told) => {
		const { code, stderr } = await shop.cli(`replay ${words}`)
		expect(code).toBe(2)
		expect(stderr).toContain(told)
		expect(await statusOf(fresh)).toBe('dead')
	})

	test('is found among more than one page of letters', async () => {
		await enqueue(shop.outbox, 'bulk', 450)
		const last = only(await enqueue(shop.outbox, 'bulk', 1, { expiresAt: AN_HOUR_AGO }))
		for (let batch = 0; batch < 5; batch += 1) await bury(shop.outbox.store, 'bulk', new Error('full'))
		const { data } = await shop.json('replay --destination bulk')
		expect(data).toMatchObject({ replayed: 450, expired: 1 })
		expect(await statusOf(last)).toBe('dead')
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
