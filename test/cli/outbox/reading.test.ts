import { describe, expect, test } from 'vitest'
import { statusText } from '../../../src/cli/outbox/status-text.ts'
import { createStyle } from '../../../src/cli/style.ts'
import { bury, claim, enqueue } from './letters.ts'
import { LATER, NOBODY, only, shopForEach } from './shop.ts'

const shop = shopForEach()

describe('status', () => {
	test('tells what is due, waits, is in flight and is dead, by destination', async () => {
		await enqueue(shop.outbox, 'billing', 3)
		await bury(shop.outbox.store, 'billing', new Error('no such account'))
		await enqueue(shop.outbox, 'mail', 2)
		await claim(shop.outbox.store, 'mail')
		await enqueue(shop.outbox, 'mail', 1)
		await enqueue(shop.outbox, 'mail', 4, { notBefore: LATER })
		const { code, stdout } = await shop.cli('status')
		expect(code).toBe(0)
		const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/))
		expect(rows).toContainEqual([
			'destination',
			'due',
			'waiting',
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

	test('says when there are more destinations than it counts', async () => {
		await enqueue(shop.outbox, 'billing', 1)
		const stats = await shop.outbox.stats()
		const page = { style: createStyle(false), columns: 100 }
		const told = 'There are more destinations, which are not counted here.'
		expect(statusText('shop.db', stats, page)).not.toContain(told)
		expect(statusText('shop.db', { ...stats, hasMoreDestinations: true }, page)).toContain(`\n${told}\n`)
	})

	test('is an object for programs', async () => {
		await enqueue(shop.outbox, 'billing', 2)
		const { data } = await shop.json('status')
		expect(data).toMatchObject({
			database: shop.file,
			totals: { due: { count: 2, isCapped: false } },
			relays: [],
		})
	})

	test('tells what is held back, for how long and why, and what falls due in the next hour', async () => {
		await enqueue(shop.outbox, 'billing', 1)
		await enqueue(shop.outbox, 'billing', 3, { notBefore: new Date(Date.now() + 7 * 60_000) })
		await shop.outbox.store.pause('billing', 90_000, 'retry-after')
		const { stdout } = await shop.cli('status')
		expect(stdout).toMatch(/billing +closed +90 s +retry-after/)
		expect(stdout).toMatch(/in 5 to 10 min +3/)
	})
})

describe('list', () => {
	test('shows each message with where it stands and what went wrong', async () => {
		const dead = only(await enqueue(shop.outbox, 'billing', 1, { key: 'order-1\x1b[2J' }))
		await bury(shop.outbox.store, 'billing', new TypeError('bad amount'))
		const waiting = only(await enqueue(shop.outbox, 'mail', 1, { notBefore: LATER }))
		const { code, stdout } = await shop.cli('list')
		expect(code).toBe(0)
		const lines = stdout.trimEnd().split('\n')
		const of = (id: string) => lines.findIndex((line) => line.startsWith(id))
		expect(lines[of(dead)]).toMatch(
			/retries-exhausted +order\.created to billing +order-1\uFFFD\[2J +tried 1 time +died \d+ m?s ago$/,
		)
		expect(lines[of(dead) + 1]).toBe('    TypeError: bad amount')
		expect(lines[of(waiting)]).toMatch(/pending +order\.created to mail +never tried +due in \d+ d$/)
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
	])('%s', async (words, count) => {
		await enqueue(shop.outbox, 'billing', 2)
		await bury(shop.outbox.store, 'billing', new Error('no'))
		await enqueue(shop.outbox, 'mail', 2)
		await enqueue(shop.outbox, 'mail', 1, { key: 'order-7' })
		const { data } = await shop.json(`list ${words}`)
		expect(data).toHaveLength(count)
	})

	test('goes on where it ended', async () => {
		const ids = await enqueue(shop.outbox, 'mail', 3)
		const first = await shop.json('list --limit 2')
		expect(first.stderr).toContain(`--after ${ids[1]}`)
		const rest = await shop.json(`list --limit 2 --after ${ids[1]}`)
		expect(rest.data).toMatchObject([{ id: ids[2] }])
	})

	test('of nothing says so', async () => {
		expect((await shop.cli('list')).stdout).toBe('No message matches.\n')
		expect((await shop.cli('list --groups')).stdout).toBe('No dead letter matches.\n')
	})

	test('--groups puts dead letters of one kind together, the greatest first', async () => {
		await enqueue(shop.outbox, 'mail', 1)
		await bury(shop.outbox.store, 'mail', new Error('mailbox full'))
		await enqueue(shop.outbox, 'billing', 3)
		await bury(shop.outbox.store, 'billing', new TypeError('bad amount'))
		const { stdout } = await shop.cli('list --groups')
		expect(stdout).toMatch(
			/^3 at billing, retries-exhausted {2}\[[\da-f]+\]\n {4}TypeError: bad amount\n {4}first .* ago/,
		)
		expect(stdout).toContain('\n1 at mail')
		const { data } = await shop.json<{ fingerprint: string }[]>('list --groups')
		const { data: listed } = await shop.json(`list --fingerprint ${data[0]?.fingerprint}`)
		expect(listed).toHaveLength(3)
	})

	test('--groups shows no empty brackets for what died without an error', async () => {
		await enqueue(shop.outbox, 'mail', 1)
		const [row] = await claim(shop.outbox.store, 'mail')
		const { id = '', attempt = 0 } = row ?? {}
		const outcome = {
			type: 'dead',
			id,
			attempt,
			cause: 'expired',
			afterDeadLetter: 'skip',
			error: null,
		} as const
		await shop.outbox.store.settle('some-relay', [outcome], false)
		expect((await shop.cli('list --groups')).stdout).toMatch(/^1 at mail, expired\n/)
	})

	test.each([
		['--groups --status pending', '--groups is for dead letters'],
		['--status deed', 'Did you mean "dead"?'],
		['--since soon', "--since: got 'soon'"],
		['--limit 0', '--limit'],
		['--topic=', "--topic: got ''"],
		['--since 1h --until 2h', '--until: got '],
		['--after me', "--after: got 'me'"],
	])('%s can not be meant', async (words, told) => {
		const { code, stderr } = await shop.cli(`list ${words}`)
		expect(code).toBe(2)
		expect(stderr).toContain(told)
	})
})

describe('one message', () => {
	test('is shown with all that is known about it, and why it is still there', async () => {
		const [id] = await enqueue(shop.outbox, 'billing', 1, { key: 'order-1' })
		await bury(shop.outbox.store, 'billing', new TypeError('bad amount'), 'permanent')
		const { code, stdout } = await shop.cli(`show ${id}`)
		expect(code).toBe(0)
		for (const told of ['dead (permanent)', 'order-1', 'TypeError: bad amount', '"number": 0'])
			expect(stdout).toContain(told)
		const { data } = await shop.json(`show ${id?.toUpperCase()}`)
		expect(data).toMatchObject({ id, status: 'dead', cause: 'permanent', payload: { number: 0 } })
	})

	test('has a reason in one sentence', async () => {
		const [id] = await enqueue(shop.outbox, 'billing', 1)
		const { code, stdout } = await shop.cli(`why ${id}`)
		expect(code).toBe(0)
		expect(stdout).toMatch(/relay/)
		expect(stdout.trimEnd().split('\n')).toHaveLength(1)
	})

	test.each([
		`show ${NOBODY}`,
		`why ${NOBODY}`,
		'show nonsense',
		`retry ${NOBODY}`,
		`replay ${NOBODY}`,
		`discard ${NOBODY} --yes`,
	])('that is not there is exit code 3: %s', async (words) => {
		const { code, stdout, stderr } = await shop.cli(words)
		expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
		expect(stderr).toContain('there is no message')
	})
})
