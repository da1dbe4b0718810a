import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AuditRecord } from '../../../src/outbox/index.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { enqueue, killMessages } from './fixtures.ts'
import { testOutbox } from './test-outbox.ts'

const env = testOutbox()

const addDead = async (count: number): Promise<readonly string[]> => {
	const ids = await enqueue(env.outbox, 'billing', count)
	await killMessages(env.outbox.store, 'billing', new TypeError('bad amount'))
	return ids
}

const audit = async (args = '') => (await env.json<readonly AuditRecord[]>(`audit${args}`)).data

describe('the audit', () => {
	test('the audit has a record of a replay, an edit and a discard, with the original payload', async () => {
		const [first, second, third] = await addDead(3)
		const file = join(temporaryFolder(), 'fixed.json')
		writeFileSync(file, '{"number":100}')
		await env.cli(`replay ${first} --by ada@ops --reason fixed`)
		await env.cli(`replay ${second} --payload ${file} --by bob@ops`)
		await env.cli(`discard ${third} --yes`)
		expect(await audit()).toMatchObject([
			{ action: 'discard', by: expect.stringMatching(/.@./), messageId: third, payload: { number: 2 } },
			{
				action: 'edit',
				by: 'bob@ops',
				messageId: second,
				payload: { number: 1 },
				changes: { payload: { number: 100 } },
			},
			{
				action: 'replay',
				by: 'ada@ops',
				reason: 'fixed',
				messageId: first,
				payload: { number: 0 },
				destination: 'billing',
				topic: 'order.created',
				cause: 'retries-exhausted',
			},
		])
	})

	test('the audit has one record per message that replay --expires changes', async () => {
		const ids = await addDead(3)
		await env.cli('replay --destination billing --expires 2h --by ada@ops')
		const records = await audit()
		expect(records.map(({ messageId }) => messageId).toSorted()).toEqual(ids.toSorted())
		expect(records.map(({ action, by }) => [action, by])).toEqual(ids.map(() => ['edit', 'ada@ops']))
	})

	test('the audit has records of pause, resume and a closed circuit', async () => {
		await env.cli('pause billing --for 2h --by ada@ops')
		await env.outbox.store.pause('billing', 3_600_000, 'retry-after')
		await env.cli('resume billing --by ada@ops --close-circuit')
		expect(await audit()).toMatchObject([
			{ action: 'resume' },
			{ action: 'close-circuit' },
			{ action: 'pause', changes: { forMs: 7_200_000 }, destination: 'billing' },
		])
	})

	test('the audit is filtered and paged', async () => {
		const [first] = await addDead(2)
		await env.cli('pause mail --by ada@ops')
		await env.cli('discard --all --yes --by bob@ops')
		expect(await audit(' --destination mail')).toMatchObject([{ action: 'pause' }])
		expect(await audit(' --by bob@ops')).toHaveLength(2)
		expect(await audit(` --message-id ${first}`)).toHaveLength(1)
		expect(await audit(' --until 1h')).toEqual([])
		const { data, stderr } = await env.json<readonly AuditRecord[]>('audit --limit 2')
		expect(data).toHaveLength(2)
		expect(stderr).toContain(`--before ${data[1]?.id}`)
		expect(await audit(` --before ${data[1]?.id}`)).toMatchObject([{ action: 'pause' }])
		expect((await env.cli('audit --message-id 7')).code).toBe(2)
	})

	test('the audit is printed with one line per record and the payload below', async () => {
		const [id] = await addDead(1)
		await env.cli('discard --all --yes --by ada@ops --reason obsolete')
		const { stdout } = await env.cli('audit')
		expect(stdout).toMatch(
			new RegExp(`^\\S+Z  discard  ada@ops  billing  ${id}  obsolete\n    original payload {"number":0}\n$`),
		)
		expect((await env.cli('audit --no-payload')).stdout).not.toContain('number')
		expect((await audit(' --no-payload'))[0]).not.toHaveProperty('payload')
		expect((await env.cli('audit --action pause')).stdout).toBe('No records match.\n')
	})
})
