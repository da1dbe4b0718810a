import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { Relay } from 'yaoki/outbox'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { claim, enqueue, failMessages, killMessages } from './fixtures.ts'
import { LATER, only, testOutbox } from './test-outbox.ts'

const env = testOutbox()
const UNKNOWN = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'

describe('retry', () => {
	const totals = async () => (await env.outbox.stats()).totals

	test('makes messages that wait for a retry due, by filter or by id', async () => {
		const [id] = await enqueue(env.outbox, 'billing', 3)
		await failMessages(env.outbox.store, 'billing')
		await enqueue(env.outbox, 'mail', 1)
		await failMessages(env.outbox.store, 'mail')
		expect(await env.cli(`retry ${id}`)).toMatchObject({ code: 0, stdout: '1 message due now.\n' })
		expect(await env.cli(`retry ${id}`)).toMatchObject({
			code: 0,
			stdout: 'The messages are due already.\n',
		})
		await env.cli('retry --destination billing')
		expect(await totals()).toMatchObject({ due: { count: 3 }, scheduled: { count: 1 } })
		await env.cli('retry --all')
		expect(await totals()).toMatchObject({ due: { count: 4 }, scheduled: { count: 0 } })
	})

	test.each(['--all', '--destination mail'])(
		'%s leaves scheduled messages without an attempt alone, which become due by id only',
		async (args) => {
			const [id] = await enqueue(env.outbox, 'mail', 2, { notBefore: LATER })
			expect(await env.cli(`retry ${args}`)).toMatchObject({
				code: 0,
				stdout: 'No matching message waits for a retry.\n',
			})
			expect(await totals()).toMatchObject({ due: { count: 0 }, scheduled: { count: 2 } })
			expect(await env.cli(`retry ${id}`)).toMatchObject({ code: 0, stdout: '1 message due now.\n' })
			expect(await totals()).toMatchObject({ due: { count: 1 }, scheduled: { count: 1 } })
		},
	)

	test('changes nothing without a selection, or if one of the ids is dead', async () => {
		const [id] = await enqueue(env.outbox, 'mail', 1, { notBefore: LATER })
		const [dead] = await enqueue(env.outbox, 'billing', 1)
		await killMessages(env.outbox.store, 'billing', new Error('no'))
		expect(await env.cli('retry')).toMatchObject({ code: 2 })
		expect(await env.cli('retry --all --topic order.created')).toMatchObject({ code: 2 })
		const { code, stderr } = await env.cli(`retry ${id} ${dead}`)
		expect(code).toBe(3)
		expect(stderr).toContain(`Message ${dead} is dead, not pending. Nothing was retried.`)
		expect((await env.outbox.stats()).totals).toMatchObject({ due: { count: 0 } })
	})
})

describe('expire', () => {
	test('ends queued messages: a relay makes them dead letters, and the audit says who did it', async () => {
		const [id = ''] = await enqueue(env.outbox, 'billing', 2, { maxRetries: Number.POSITIVE_INFINITY })
		await failMessages(env.outbox.store, 'billing')
		expect(await env.cli(`expire ${id} --by ada --reason stuck`)).toMatchObject({
			code: 0,
			stdout: '1 message expired. A relay moves them to the dead letters.\n',
		})
		expect(await env.cli(`expire ${id}`)).toMatchObject({ code: 0, stdout: 'No queued message matches.\n' })
		expect(await env.outbox.audit()).toMatchObject([
			{ action: 'expire', by: 'ada', reason: 'stuck', messageId: id },
		])
		const relay = new Relay(env.outbox, { destinations: { billing: () => {} } })
		const ended = new Promise((resolve) =>
			relay.subscribe((event) => event.type === 'relay_dead_letter' && resolve(event)),
		)
		await relay.start()
		expect(await ended).toMatchObject({ messageId: id, cause: 'expired' })
		await relay.stop()
		expect(await env.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'expired' })
	})

	test('changes nothing without a selection, or if one of the ids is unknown', async () => {
		const [id = ''] = await enqueue(env.outbox, 'billing', 1)
		expect(await env.cli(`expire ${id} ${UNKNOWN}`)).toMatchObject({ code: 3 })
		expect(await env.cli(`expire ${id} x`)).toMatchObject({ code: 3 })
		expect(await env.cli('expire')).toMatchObject({ code: 2 })
		expect(await env.outbox.find(id)).toMatchObject({ expiresAt: undefined })
	})
})

describe('resend', () => {
	test('queues a sent message again, and the audit says who did it', async () => {
		const [id = ''] = await enqueue(env.outbox, 'billing', 1)
		const [row] = await claim(env.outbox.store, 'billing')
		await env.outbox.store.settle('some-relay', [{ type: 'sent', id, attempt: row?.attempt ?? 0 }], true)
		expect(await env.cli(`resend ${id} --by ada --reason lost`)).toMatchObject({
			code: 0,
			stdout: `Message ${id} is queued again.\n`,
		})
		expect(await env.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 0 })
		expect((await env.json('audit --action resend')).data).toMatchObject([
			{ action: 'resend', by: 'ada', reason: 'lost', messageId: id },
		])
		expect(await env.cli(`resend ${id}`)).toMatchObject({ code: 3, stdout: '' })
	})

	test('exits with 3 and names historyForMs if the history does not have the message', async () => {
		const { code, stderr } = await env.cli(`resend ${UNKNOWN}`)
		expect(code).toBe(3)
		expect(stderr).toContain('Set historyForMs of the outbox that the relay uses')
	})
})

test.each(['retry', 'expire', 'replay', 'discard --yes'])(
	'%s takes ids or filters, not both',
	async (command) => {
		const ran = await env.cli(`${command} ${UNKNOWN} --destination other --since 2h`)
		expect(ran).toMatchObject({ code: 2, stdout: '' })
		expect(ran.stderr).toContain('IDs select messages by themselves: remove --destination, --since.')
	},
)

describe('replay', () => {
	beforeEach(async () => {
		await enqueue(env.outbox, 'billing', 3)
		await killMessages(env.outbox.store, 'billing', new Error('no such account'))
		await enqueue(env.outbox, 'mail', 2)
		await killMessages(env.outbox.store, 'mail', new Error('mailbox full'))
	})
	const dead = async () => (await env.outbox.stats()).totals.dead.count

	test('replays matching letters, and all letters only with --all', async () => {
		expect(await env.cli('replay')).toMatchObject({ code: 2 })
		expect(await env.cli('replay --destination mail')).toMatchObject({
			code: 0,
			stdout: 'Replayed 2 dead letters.\n',
		})
		expect(await dead()).toBe(3)
		expect((await env.json('replay --all')).data).toMatchObject({ replayed: 3, stopped: false })
		expect(await dead()).toBe(0)
	})

	test('replays one letter with a new payload', async () => {
		const { id } = only(await env.outbox.dead.list({ destination: 'billing' }))
		const fixed = join(temporaryFolder(), 'fixed.json')
		writeFileSync(fixed, '\uFEFF{ "number": 42 }')
		expect(await env.cli(`replay ${id} --payload ${fixed}`)).toMatchObject({ code: 0 })
		expect(await env.outbox.find(id)).toMatchObject({ status: 'pending', payload: { number: 42 } })
	})

	test.each([
		['a missing file', 'no-such.json', 3, 'File "no-such.json" does not exist.'],
		['a file without valid JSON', 'broken', 2, 'is not valid JSON'],
	])('changes nothing for %s', async (_, name, code, message) => {
		const path = name === 'broken' ? join(temporaryFolder(), 'broken.json') : name
		if (path !== name) writeFileSync(path, '{ number: 42 }')
		const { id } = only(await env.outbox.dead.list())
		const ran = await env.cli(`replay ${id} --payload ${path}`)
		expect(ran).toMatchObject({ code, stdout: '' })
		expect(ran.stderr).toContain(message)
		expect(await dead()).toBe(5)
	})

	test.each(['replay', 'replay --expires 2h', 'replay --canary'])(
		'%s changes nothing if an id is unknown',
		async (command) => {
			const { id } = only(await env.outbox.dead.list())
			const ran = await env.cli(`${command} ${id} ${UNKNOWN}`)
			expect(ran).toMatchObject({ code: 3, stdout: '' })
			expect(ran.stderr).toContain(`Message ${UNKNOWN} is unknown`)
			expect(await dead()).toBe(5)
		},
	)

	test('replay --payload exits with 3 for a message that is no dead letter', async () => {
		const [id] = await enqueue(env.outbox, 'billing', 1)
		const fixed = join(temporaryFolder(), 'fixed.json')
		writeFileSync(fixed, '{}')
		const { code, stderr } = await env.cli(`replay ${id} --payload ${fixed}`)
		expect(code).toBe(3)
		expect(stderr).toContain(`Message ${id} is pending, not a dead letter.`)
	})

	test('accepts a payload for one letter only', async () => {
		expect(await env.cli('replay --all --payload -')).toMatchObject({ code: 2 })
	})

	test('replay --canary prints the reason with one full stop', async () => {
		const { stdout } = await env.cli('replay --destination billing --canary --timeout 50ms')
		expect(stdout).toContain('Stopped: No result')
		expect(stdout).not.toContain('..')
	})

	test('replay --canary stops after the first letter and exits with 4 if no relay responds', async () => {
		const { code, data } = await env.json('replay --destination billing --canary --timeout 50ms')
		expect(code).toBe(4)
		expect(data).toMatchObject({ replayed: 1, stopped: true, stoppedBy: 'timeout' })
		expect(await dead()).toBe(4)
	})
})

describe('replay of expired letters', () => {
	const AN_HOUR_AGO = new Date(Date.now() - 3_600_000)
	let stale: string
	let fresh: string

	/** Two dead letters, one of them expired. */
	beforeEach(async () => {
		stale = only(await enqueue(env.outbox, 'mail', 1, { expiresAt: AN_HOUR_AGO }))
		fresh = only(await enqueue(env.outbox, 'mail', 1, { expiresAt: LATER }))
		await killMessages(env.outbox.store, 'mail', new Error('mailbox full'))
	})
	const statusOf = async (id: string) => (await env.outbox.find(id))?.status
	const payloadFile = () => {
		const path = join(temporaryFolder(), 'fixed.json')
		writeFileSync(path, '{ "number": 42 }')
		return path
	}

	test('rejects an expired id and changes nothing, because it would die again immediately', async () => {
		const { code, stdout, stderr } = await env.cli(`replay ${fresh} ${stale}`)
		expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
		expect(stderr).toContain(
			`Message ${stale} expired 60 min ago. It would become a dead letter again immediately.`,
		)
		expect(stderr).toContain('--expires never')
		expect(await statusOf(fresh)).toBe('dead')
		expect(await env.cli(`replay ${stale} --payload ${payloadFile()}`)).toMatchObject({ code: 4 })
		expect(await env.outbox.find(stale)).toMatchObject({ status: 'dead', payload: { number: 0 } })
	})

	test.each(['--all', '--destination mail'])(
		'replay with %s skips expired letters, replays the others, and exits with 4',
		async (args) => {
			const { code, stdout, stderr } = await env.cli(`replay ${args}`)
			expect(code).toBe(4)
			expect(stdout).toBe('Replayed 1 dead letter. Skipped 1 expired.\n')
			expect(stderr).toContain('--expires 2h')
			expect([await statusOf(stale), await statusOf(fresh)]).toEqual(['dead', 'pending'])
			const again = await env.json(`replay ${args}`)
			expect(again).toMatchObject({ code: 4, data: { replayed: 0, expired: 1 } })
		},
	)

	test('--expires sets a new expiry for all selected letters', async () => {
		const { code, stdout } = await env.cli('replay --destination mail --expires 2098-01-01')
		expect(code).toBe(0)
		expect(stdout).toBe('Replayed 2 dead letters with expiry 2098-01-01T00:00:00.000Z.\n')
		for (const id of [stale, fresh])
			expect(await env.outbox.find(id)).toMatchObject({
				status: 'pending',
				expiresAt: new Date('2098-01-01'),
			})
	})

	test('--expires never removes the expiry, also with a new payload', async () => {
		expect(await env.cli(`replay ${stale} --expires never`)).toMatchObject({ code: 0 })
		expect(await env.outbox.find(stale)).toMatchObject({ status: 'pending', expiresAt: undefined })
		expect(await env.cli(`replay ${fresh} --expires never --payload ${payloadFile()}`)).toMatchObject({
			code: 0,
			stdout: `Replayed ${fresh} with the new payload.\n`,
		})
		expect(await env.outbox.find(fresh)).toMatchObject({
			status: 'pending',
			expiresAt: undefined,
			payload: { number: 42 },
		})
	})

	test('--expires 2h counts from now', async () => {
		const before = Date.now()
		await env.cli(`replay ${stale} --expires 2h`)
		const { expiresAt } = (await env.outbox.find(stale)) ?? {}
		expect(expiresAt?.getTime()).toBeGreaterThanOrEqual(before + 7_200_000)
		expect(expiresAt?.getTime()).toBeLessThanOrEqual(Date.now() + 7_200_000)
	})

	test.each([
		['--all --expires soon', '--expires'],
		['--all --expires 2020-01-01', '--expires'],
		['--all --expires never --canary', '--expires cannot be combined with --canary.'],
	])('rejects %s and changes nothing', async (args, message) => {
		const { code, stderr } = await env.cli(`replay ${args}`)
		expect(code).toBe(2)
		expect(stderr).toContain(message)
		expect(await statusOf(fresh)).toBe('dead')
	})

	test('finds an expired letter on a later page', async () => {
		await enqueue(env.outbox, 'bulk', 450)
		const last = only(await enqueue(env.outbox, 'bulk', 1, { expiresAt: AN_HOUR_AGO }))
		for (let batch = 0; batch < 5; batch += 1) await killMessages(env.outbox.store, 'bulk', new Error('full'))
		const { data } = await env.json('replay --destination bulk')
		expect(data).toMatchObject({ replayed: 450, expired: 1 })
		expect(await statusOf(last)).toBe('dead')
	})
})

describe('discard', () => {
	beforeEach(async () => {
		await enqueue(env.outbox, 'billing', 3)
		await killMessages(env.outbox.store, 'billing', new Error('no such account'), 'expired')
	})

	test('discard only prints the count without --yes', async () => {
		const { code, stdout, stderr } = await env.cli('discard --cause expired')
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain('This would discard 3 dead letters.\nAdd --yes to confirm.')
		expect((await env.outbox.dead.count()).count).toBe(3)
		expect(await env.cli('discard --cause expired --yes')).toMatchObject({
			code: 0,
			stdout: 'Discarded 3 dead letters.\n',
		})
		expect((await env.outbox.dead.count()).count).toBe(0)
	})

	test.each(['discard', 'discard --yes'])('%s exits with 3 for an unknown id', async (command) => {
		const { id } = only(await env.outbox.dead.list())
		expect(await env.cli(`${command} ${id} ${UNKNOWN}`)).toMatchObject({ code: 3 })
		expect((await env.outbox.dead.count()).count).toBe(3)
	})

	test('discards all letters only with --all', async () => {
		expect(await env.cli('discard --yes')).toMatchObject({ code: 2 })
		expect((await env.outbox.dead.count()).count).toBe(3)
		expect((await env.json('discard --all --yes')).data).toEqual({ discarded: 3, stopped: false })
	})

	test('moves them to the history with --keep-history', async () => {
		const { id } = only(await env.outbox.dead.list())
		await env.cli(`discard ${id} --yes --keep-history`)
		expect(await env.outbox.find(id)).toMatchObject({ endedAt: expect.any(Date) })
		expect((await env.outbox.dead.count()).count).toBe(2)
	})
})
