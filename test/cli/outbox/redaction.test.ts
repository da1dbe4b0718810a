import { beforeEach, describe, expect, test } from 'vitest'
import { killMessages } from './fixtures.ts'
import { run } from './run-yaoki.ts'
import { testOutbox } from './test-outbox.ts'

const env = testOutbox()
let id = ''

beforeEach(async () => {
	const payload = { order: 17, email: 'ada@example.com' }
	const headers = { authorization: 'Bearer hunter2', 'x-team': 'shop' }
	const message = { topic: 'mail', payload, headers }
	id = (await env.outbox.enqueue(message, { withoutTransaction: true })).id
	await killMessages(env.outbox.store, 'mail', new Error('no mailbox ada@example.com'))
})

describe('--no-payload', () => {
	test('leaves payload and headers out of show and list', async () => {
		expect((await env.cli(`show ${id}`)).stdout).toContain('"order": 17')
		const { stdout } = await env.cli(`show ${id} --no-payload`)
		expect(stdout).toContain(id)
		expect(stdout).not.toMatch(/payload|order"|hunter2|x-team/)
		const { data } = await env.json<Record<string, unknown>>(`show ${id} --no-payload`)
		expect(data).toMatchObject({ id, status: 'dead' })
		expect(data).not.toHaveProperty('payload')
		expect(data).not.toHaveProperty('headers')
		const { data: listed } = await env.json<Record<string, unknown>[]>('list --no-payload')
		expect(listed).toHaveLength(1)
		expect(listed[0]).not.toHaveProperty('payload')
		expect(listed[0]).not.toHaveProperty('headers')
	})
})

describe('--redact', () => {
	test.each([
		'show ID',
		'show ID --json',
		'why ID',
		'why ID --json',
		'list',
		'list --json',
		'list --groups',
		'list --groups --json',
		'audit',
		'audit --json',
	])('hides fields, headers and quoted values: %s', async (command) => {
		if (command.startsWith('audit')) await env.outbox.dead.discard({ ids: [id] })
		const args = command.replace('ID', id)
		const before = await env.cli(args)
		expect(before.stdout).toContain('ada@example.com')
		for (const ran of [
			await env.cli(`${args} --redact email,Authorization`),
			await run(['outbox', ...args.split(' '), '--database', env.file], {
				YAOKI_REDACT: ' email, authorization ',
			}),
		]) {
			expect(ran.code).toBe(0)
			expect(ran.stdout).toContain('[redacted]')
			expect(ran.stdout + ran.stderr).not.toMatch(/ada@example\.com|hunter2/)
		}
	})

	test('does not change what replay sends', async () => {
		const args = ['outbox', 'replay', id, '--database', env.file]
		expect(await run(args, { YAOKI_REDACT: 'email' })).toMatchObject({ code: 0 })
		expect(await env.outbox.find(id)).toMatchObject({ payload: { order: 17, email: 'ada@example.com' } })
	})
})
