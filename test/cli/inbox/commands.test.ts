import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Inbox, type InboxOptions, postgresInboxStore, sqliteInboxStore } from 'yaoki/outbox'
import { postgresPool } from '../../support/postgres-pool.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { type RunResult, run } from '../outbox/run-yaoki.ts'

let file: string

beforeEach(() => {
	file = temporaryFile()
})

const yaoki = (...args: readonly string[]): Promise<RunResult> => run(['inbox', ...args, '--database', file])

/** Processes messages in the file. */
async function processed(ids: readonly string[], options: Partial<InboxOptions> = {}) {
	const inbox = new Inbox({ store: sqliteInboxStore(file), purgeEveryMs: 0, ...options })
	onTestFinished(() => inbox.close())
	await inbox.migrate()
	const db = new DatabaseSync(file)
	onTestFinished(() => db.close())
	for (const id of ids) {
		db.exec('BEGIN IMMEDIATE')
		inbox.onceSync(id, { tx: db }, () => {})
		db.exec('COMMIT')
	}
	return inbox
}

test('migrate creates the file and the tables, and finds them up to date afterwards', async () => {
	expect(existsSync(file)).toBe(false)
	expect(await yaoki('migrate')).toMatchObject({
		code: 0,
		stdout: expect.stringContaining('from version 0 to 1'),
	})
	expect(await yaoki('migrate')).toMatchObject({ code: 0, stdout: expect.stringContaining('up to date') })
})

test('a missing file and missing tables say how to create them', async () => {
	expect(await yaoki('status')).toMatchObject({
		code: 5,
		stderr: expect.stringContaining('yaoki inbox migrate'),
	})
	new DatabaseSync(file).close()
	const { code, stderr } = await yaoki('status')
	expect(code).toBe(1)
	expect(stderr).toContain('has no inbox tables')
	expect(stderr).toContain(`yaoki inbox migrate --database ${file}`)
})

describe('status', () => {
	test('lists the inboxes with what they remember', async () => {
		await processed(['a', 'b'], { name: 'orders' })
		await processed(['a'], { name: 'stripe' })
		const { code, stdout } = await yaoki('status')
		expect(code).toBe(0)
		expect(stdout).toMatch(/inbox +messages +expired +oldest/)
		expect(stdout).toMatch(/orders +2 +0 /)
		expect(stdout).toMatch(/stripe +1 +0 /)
	})

	test('prints JSON, and a sentence for an empty inbox', async () => {
		await processed([])
		expect((await yaoki('status')).stdout).toContain('No message is remembered.')
		await processed(['a'])
		expect(JSON.parse((await yaoki('status', '--json')).stdout)).toEqual({
			database: file,
			inboxes: [
				{
					inbox: 'inbox',
					marks: { count: 1, isCapped: false },
					expired: { count: 0, isCapped: false },
					oldestAgeMs: expect.any(Number),
				},
			],
		})
	})
})

describe('show', () => {
	test('prints when a message was processed', async () => {
		await processed(['evt_1'], { name: 'stripe' })
		const { code, stdout } = await yaoki('show', 'evt_1', '--name', 'stripe')
		expect(code).toBe(0)
		expect(stdout).toMatch(/message +evt_1\n/)
		expect(stdout).toMatch(/processed +\d{4}-/)
		expect(JSON.parse((await yaoki('show', 'evt_1', '-n', 'stripe', '--json')).stdout)).toMatchObject({
			inbox: 'stripe',
			messageId: 'evt_1',
		})
	})

	test('an unknown message and one of another inbox are not found', async () => {
		await processed(['evt_1'], { name: 'stripe' })
		for (const args of [['evt_2', '-n', 'stripe'], ['evt_1']])
			expect(await yaoki('show', ...args)).toMatchObject({
				code: 3,
				stderr: expect.stringContaining('does not remember'),
			})
		expect((await yaoki('show', '')).code).toBe(2)
	})
})

describe('forget', () => {
	test('asks for --yes, and then the next delivery is processed', async () => {
		const inbox = await processed(['a'])
		const asked = await yaoki('forget', 'a')
		expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
		expect(await inbox.find('a')).toBeDefined()
		expect(await yaoki('forget', 'a', '--yes')).toMatchObject({ code: 0 })
		expect(await inbox.find('a')).toBeUndefined()
		expect((await yaoki('forget', 'a', '--yes')).code).toBe(3)
	})
})

describe('purge', () => {
	test('deletes the marks whose retention is over', async () => {
		await processed(['a', 'b', 'c'], {
			store: sqliteInboxStore({ file, clock: () => Date.now() - 60_000 }),
			retentionMs: 1_000,
			senderRetriesForMs: 0,
		})
		await processed(['d'])
		const result = await yaoki('purge', '--batch-size', '2', '--json')
		expect(JSON.parse(result.stdout)).toEqual({ purged: 3, isComplete: true })
		expect((await yaoki('purge')).stdout).toContain('Deleted 0 expired marks.')
	})
})

test('sql prints the migrations for both databases', async () => {
	const postgres = await run(['inbox', 'sql', '--schema', 'billing'])
	expect(postgres.stdout).toContain('create table "billing".inbox (')
	const sqlite = await run(['inbox', 'sql', '--dialect', 'sqlite'])
	expect(sqlite.stdout).toContain('CREATE TABLE yaoki_inbox (')
})

describe('PostgreSQL', () => {
	const database = postgresPool()

	test('all commands work', async () => {
		const { pool, url } = database
		const on = (...args: readonly string[]) => run(['inbox', ...args, '--database', url])
		expect((await on('migrate')).code).toBe(0)
		const inbox = new Inbox({ store: postgresInboxStore({ client: pool }), purgeEveryMs: 0 })
		const tx = await pool.connect()
		await tx.query('begin')
		await inbox.once('a', { tx }, () => {})
		await tx.query('commit')
		tx.release()
		expect((await on('status')).stdout).toMatch(/inbox +1 +0 /)
		expect((await on('show', 'a')).code).toBe(0)
		expect((await on('purge')).stdout).toContain('Deleted 0 expired marks.')
		expect((await on('forget', 'a', '--yes')).code).toBe(0)
		expect((await on('show', 'a')).code).toBe(3)
	})
})
