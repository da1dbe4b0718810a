import { describe, expect, test } from 'vitest'
import { renderStatus } from '../../../src/cli/outbox/render-status.ts'
import { PLAIN } from '../../../src/text/style.ts'
import { beat, claim, enqueue, failMessages, killMessages } from './fixtures.ts'
import { LATER, only, testOutbox, UNKNOWN_ID } from './test-outbox.ts'

const env = testOutbox()

describe('status', () => {
	test('shows counts of due, scheduled, in-flight and dead messages by destination', async () => {
		await enqueue(env.outbox, 'billing', 3)
		await killMessages(env.outbox.store, 'billing', new Error('no such account'))
		await enqueue(env.outbox, 'mail', 2)
		await claim(env.outbox.store, 'mail')
		await enqueue(env.outbox, 'mail', 1)
		await enqueue(env.outbox, 'mail', 4, { notBefore: LATER })
		const { code, stdout } = await env.cli('status')
		expect(code).toBe(0)
		const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/))
		expect(rows).toContainEqual([
			'destination',
			'due',
			'scheduled',
			'in flight',
			'dead',
			'oldest lag',
			'next due in',
		])
		expect(rows.find(([name]) => name === 'billing')?.slice(1, 5)).toEqual(['0', '0', '0', '3'])
		expect(rows.find(([name]) => name === 'mail')?.slice(1, 5)).toEqual(['1', '4', '2', '0'])
		expect(rows.find(([name]) => name === 'all')?.slice(1, 5)).toEqual(['1', '4', '2', '3'])
		expect(stdout).toContain('No relay is running.')
	})

	test('says if there are more destinations than it counts', async () => {
		await enqueue(env.outbox, 'billing', 1)
		const stats = await env.outbox.stats()
		const format = { style: PLAIN, columns: 100 }
		const message = 'There are more destinations. They are not counted here.'
		expect(renderStatus('shop.db', stats, format)).not.toContain(message)
		expect(renderStatus('shop.db', { ...stats, hasMoreDestinations: true }, format)).toContain(
			`\n${message}\n`,
		)
	})

	test('status is an object with --json', async () => {
		await enqueue(env.outbox, 'billing', 2)
		const { data } = await env.json('status')
		expect(data).toMatchObject({
			database: env.file,
			totals: { due: { count: 2, isCapped: false } },
			relays: [],
		})
	})

	test('shows paused destinations with duration and reason, and the messages of the next hour', async () => {
		await enqueue(env.outbox, 'billing', 1)
		await enqueue(env.outbox, 'billing', 3, { notBefore: new Date(Date.now() + 7 * 60_000) })
		await env.outbox.store.pause('billing', 90_000, 'retry-after')
		const { stdout } = await env.cli('status')
		expect(stdout).toMatch(/billing +closed +90 s +retry-after/)
		expect(stdout).toMatch(/in 5 to 10 min +3/)
	})
})

describe('status of a broken outbox', () => {
	test('shows failing destinations and blocked keys', async () => {
		await enqueue(env.outbox, 'warehouse', 1, { key: 'order-17' })
		await killMessages(env.outbox.store, 'warehouse', new Error('no'), 'permanent', 'block')
		await enqueue(env.outbox, 'warehouse', 4, { key: 'order-17' })
		await enqueue(env.outbox, 'billing', 2, { key: 'order-18' })
		await failMessages(env.outbox.store, 'billing')
		await enqueue(env.outbox, 'billing', 2)
		await beat(env.outbox.store, { orderedDestinations: ['billing'] })
		const { stdout } = await env.cli('status')
		expect(stdout).toMatch(/failing +messages +share +most attempts +oldest\n.*\n *billing +2 +50 % +1 /)
		expect(stdout).toMatch(/warehouse +1 +4 +a dead letter /)
		expect(stdout).toMatch(/billing +1 +1 +a failing message /)
	})

	test('shows relays that ended, and a clock that was set back', async () => {
		const stats = await env.outbox.stats()
		const format = { style: PLAIN, columns: 100 }
		const seenAt = new Date(stats.now.getTime() - 120_000)
		await beat(env.outbox.store)
		const [relay] = (await env.outbox.stats()).relays
		if (relay === undefined) throw new Error('the relay is missing')
		const broken = { ...stats, endedRelays: [{ ...relay, seenAt }], clockBehindMs: 7_200_000 }
		const text = renderStatus('shop.db', broken, format)
		expect(text).toContain("The database's clock was set back by 2 h.")
		expect(text).toMatch(/relay that ended without stopping +last seen\n.*\n *box:17 \(\*\) +2 min ago/)
		expect(renderStatus('shop.db', stats, format)).not.toMatch(/clock|ended/)
	})
})

describe('list', () => {
	test('shows each message with its status and its last error', async () => {
		const dead = only(await enqueue(env.outbox, 'billing', 1, { key: 'order-1\x1b[2J' }))
		await killMessages(env.outbox.store, 'billing', new TypeError('bad amount'))
		const waiting = only(await enqueue(env.outbox, 'mail', 1, { notBefore: LATER }))
		const { code, stdout } = await env.cli('list')
		expect(code).toBe(0)
		const lines = stdout.trimEnd().split('\n')
		const of = (id: string) => lines.findIndex((line) => line.startsWith(id))
		expect(lines[of(dead)]).toMatch(
			/retries-exhausted +order\.created to billing +order-1\uFFFD\[2J +1 attempt +died \d+ m?s ago$/,
		)
		expect(lines[of(dead) + 1]).toBe('    TypeError: bad amount')
		expect(lines[of(waiting)]).toMatch(/pending +order\.created to mail +0 attempts +due in \d+ d$/)
	})

	test.each([
		['--status dead', 2],
		['--status pending', 3],
		['--destination mail', 3],
		['--topic order.created', 5],
		['--topic other', 0],
		['--cause retries-exhausted', 2],
		['--cause expired', 0],
		['--key order-7', 1],
		['--since 1h', 5],
		['--since 2099-01-01', 0],
		['--until 1h', 0],
		['--limit 2', 2],
	])('%s', async (args, count) => {
		await enqueue(env.outbox, 'billing', 2)
		await killMessages(env.outbox.store, 'billing', new Error('no'))
		await enqueue(env.outbox, 'mail', 2)
		await enqueue(env.outbox, 'mail', 1, { key: 'order-7' })
		const { data } = await env.json(`list ${args}`)
		expect(data).toHaveLength(count)
	})

	test('continues after the last message', async () => {
		const ids = await enqueue(env.outbox, 'mail', 3)
		const first = await env.json('list --limit 2')
		expect(first.stderr).toContain(`--after ${ids[1]}`)
		const rest = await env.json(`list --limit 2 --after ${ids[1]}`)
		expect(rest.data).toMatchObject([{ id: ids[2] }])
	})

	test('says if nothing matches', async () => {
		expect((await env.cli('list')).stdout).toBe('No messages match.\n')
		expect((await env.cli('list --groups')).stdout).toBe('No dead letters match.\n')
	})

	test('--groups groups dead letters by cause, the largest group first', async () => {
		await enqueue(env.outbox, 'mail', 1)
		await killMessages(env.outbox.store, 'mail', new Error('mailbox full'))
		await enqueue(env.outbox, 'billing', 3)
		await killMessages(env.outbox.store, 'billing', new TypeError('bad amount'))
		const { stdout } = await env.cli('list --groups')
		expect(stdout).toMatch(
			/^3 to billing, retries-exhausted {2}\[[\da-f]+\]\n {4}TypeError: bad amount\n {4}first .* ago/,
		)
		expect(stdout).toContain('\n1 to mail')
		const { data } = await env.json<{ fingerprint: string }[]>('list --groups')
		const { data: listed } = await env.json(`list --fingerprint ${data[0]?.fingerprint}`)
		expect(listed).toHaveLength(3)
	})

	test('--groups shows no empty brackets for letters without an error', async () => {
		await enqueue(env.outbox, 'mail', 1)
		const [row] = await claim(env.outbox.store, 'mail')
		const { id = '', attempt = 0 } = row ?? {}
		const outcome = {
			type: 'dead',
			id,
			attempt,
			cause: 'expired',
			afterDeadLetter: 'skip',
			error: null,
		} as const
		await env.outbox.store.settle('some-relay', [outcome], false)
		expect((await env.cli('list --groups')).stdout).toMatch(/^1 to mail, expired\n/)
	})

	test.each([
		['--groups --status pending', '--groups shows dead letters'],
		['--status deed', 'Did you mean "dead"?'],
		['--since soon', '--since'],
		['--limit 0', '--limit'],
		['--topic=', '--topic'],
		['--since 1h --until 2h', '--until'],
		['--after me', '--after'],
	])('rejects %s', async (args, message) => {
		const { code, stderr } = await env.cli(`list ${args}`)
		expect(code).toBe(2)
		expect(stderr).toContain(message)
	})
})

describe('one message', () => {
	test('a message is shown with all its fields and the reason why it is not delivered', async () => {
		const [id] = await enqueue(env.outbox, 'billing', 1, { key: 'order-1' })
		await killMessages(env.outbox.store, 'billing', new TypeError('bad amount'), 'permanent')
		const { code, stdout } = await env.cli(`show ${id}`)
		expect(code).toBe(0)
		for (const text of ['dead (permanent)', 'order-1', 'TypeError: bad amount', '"number": 0'])
			expect(stdout).toContain(text)
		const { data } = await env.json(`show ${id?.toUpperCase()}`)
		expect(data).toMatchObject({ id, status: 'dead', cause: 'permanent', payload: { number: 0 } })
	})

	test.each([
		[Infinity, /attempts +0, no limit/],
		[7, /attempts +0, maxRetries 7/],
	])('a message is shown with its own retry limit: %s', async (maxRetries, expected) => {
		const [id] = await enqueue(env.outbox, 'billing', 1, { maxRetries })
		expect((await env.cli(`show ${id}`)).stdout).toMatch(expected)
	})

	test('a message has a reason on one line', async () => {
		const [id] = await enqueue(env.outbox, 'billing', 1)
		const { code, stdout } = await env.cli(`why ${id}`)
		expect(code).toBe(0)
		expect(stdout).toMatch(/relay/)
		expect(stdout.trimEnd().split('\n')).toHaveLength(1)
	})

	test.each([
		[`show ${UNKNOWN_ID}`, 'does not exist'],
		[`why ${UNKNOWN_ID}`, 'does not exist'],
		['show nonsense', 'does not exist'],
		['retry nonsense', 'does not exist'],
		[`retry ${UNKNOWN_ID}`, 'is unknown'],
		[`replay ${UNKNOWN_ID}`, 'is unknown'],
		[`discard ${UNKNOWN_ID} --yes`, 'is unknown'],
	])('a message that does not exist exits with 3: %s', async (args, message) => {
		const { code, stdout, stderr } = await env.cli(args)
		expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
		expect(stderr).toContain(message)
	})
})
