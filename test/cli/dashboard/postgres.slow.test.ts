/** `yaoki dashboard --database URL` and `yaoki top --database URL` on a real PostgreSQL. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { MessagesPage, MessageView } from '../../../src/dashboard/contract.ts'
import {
	Inbox,
	Outbox,
	postgresInboxStore,
	postgresOutboxStore,
	Webhooks,
} from '../../../src/outbox/index.ts'
import { visit, writeOf } from '../../dashboard/server/visit.ts'
import { eventually } from '../../support/eventually.ts'
import { postgresPool } from '../../support/postgres-pool.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { enqueue, killMessages } from '../outbox/fixtures.ts'
import { run, start } from '../outbox/run-yaoki.ts'
import { overviewOf, serve } from './serve.ts'

const postgres = postgresPool()

let schemas = 0

/** An outbox in a schema of its own. `args` select it, with a password that the server may or may not ask for. */
async function database() {
	const schema = `shop_${++schemas}`
	const store = postgresOutboxStore({ client: postgres.pool, schema })
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	const url = new URL(postgres.url)
	url.password ||= 'hunter2'
	return {
		schema,
		outbox,
		password: url.password,
		args: ['--database', url.href, '--schema', schema],
	}
}

describe('yaoki dashboard --database postgres://', () => {
	test('shows outbox, webhooks and inboxes of the given schema', async () => {
		const { args, schema, outbox, password } = await database()
		await enqueue(outbox, 'billing', 2)
		await killMessages(outbox.store, 'billing', new TypeError('bad amount'))
		await enqueue(outbox, 'mail', 3)
		await new Webhooks(outbox).endpoints.create({ url: 'https://customer.example.com', topics: ['*'] })
		const inbox = new Inbox({
			store: postgresInboxStore({ client: postgres.pool, schema }),
			name: 'stripe',
		})
		onTestFinished(() => inbox.close())
		await inbox.migrate()
		const client = await postgres.pool.connect()
		await client.query('begin')
		await inbox.once('evt_1', { tx: client }, async () => undefined)
		await client.query('commit')
		client.release()

		const running = await serve(args)
		const overview = await overviewOf(running.url)
		expect(overview).toMatchObject({
			access: 'all',
			isDatabaseOnly: true,
			circuits: [],
			outboxes: [{ source: 'outbox', totals: { due: { count: 3 }, dead: { count: 2 } } }],
			webhooks: [{ source: 'webhooks', enabled: 1 }],
			inboxes: [{ source: 'stripe', marks: { count: 1 } }],
		})
		expect(overview.problems.map(({ kind }) => kind).sort()).toEqual(['dead-letters', 'no-relay'])
		const get = async (path: string) => (await fetch(`${running.url}_yaoki/api/${path}`)).json()
		expect((await get('dead')).groups).toMatchObject([{ destination: 'billing', count: { count: 2 } }])
		const { messages }: MessagesPage = await get('messages?status=dead&limit=1')
		const message: MessageView = await get(`message?id=${messages[0]?.id}`)
		expect(message).toMatchObject({ status: 'dead', error: 'TypeError: bad amount' })
		for (const { command } of message.actions) {
			expect(command).toContain(`--schema ${schema}`)
			expect(command).not.toContain(password)
		}
		running.interrupt()
		const { code, stderr } = await running.ended
		expect(code).toBe(130)
		expect(stderr).toContain(`${new URL(postgres.url).host}`)
		expect(stderr).not.toContain(password)
	})

	test('replays a dead letter, audited with the user of the process', async () => {
		const { args, outbox } = await database()
		const [id = ''] = await enqueue(outbox, 'billing', 1)
		await killMessages(outbox.store, 'billing', new Error('down'))
		const { url } = await serve(args)
		const page = await visit(url)
		const action = { action: 'replay', source: 'outbox', selection: { ids: [id] }, reason: 'repaired' }
		const response = await fetch(`${url}_yaoki/api/action`, writeOf(page, action))
		expect(response.status).toBe(200)
		await eventually(async () => expect(await outbox.find(id)).toMatchObject({ status: 'pending' }))
		const [record] = await outbox.audit({ messageId: id })
		expect(record).toMatchObject({ action: 'replay', reason: 'repaired' })
		expect(record?.by).not.toBe('')
	})

	test('--read-only works for a user who may only read', async () => {
		const { schema, outbox } = await database()
		await enqueue(outbox, 'billing', 1)
		const role = `reader_${schema}`
		await postgres.pool.query(`
			create role ${role} login password 'reader';
			grant usage on schema ${schema} to ${role};
			grant select on all tables in schema ${schema} to ${role}`)
		onTestFinished(async () => {
			await postgres.pool.query(`drop owned by ${role}; drop role ${role}`)
		})
		const url = Object.assign(new URL(postgres.url), { username: role, password: 'reader' })
		const running = await serve(['--database', url.href, '--schema', schema, '--read-only'])
		const overview = await overviewOf(running.url)
		expect(overview).toMatchObject({ access: 'read', outboxes: [{ totals: { due: { count: 1 } } }] })
		expect(overview.problems).toMatchObject([{ kind: 'no-relay' }])
		for (const path of ['messages', 'dead', 'audit'])
			expect((await fetch(`${running.url}_yaoki/api/${path}`)).status).toBe(200)
		// The user of the pool is dropped, which waits for its connections.
		running.interrupt()
		await running.ended
	})

	test('says that the database cannot be read, and continues when it can', async () => {
		const { args, schema, outbox } = await database()
		await enqueue(outbox, 'billing', 1)
		const { url } = await serve(args)
		await postgres.pool.query(`alter schema ${schema} rename to ${schema}_gone`)
		expect((await overviewOf(url)).problems).toMatchObject([{ kind: 'unreadable', source: 'outbox' }])
		await postgres.pool.query(`alter schema ${schema}_gone rename to ${schema}`)
		// The server ends the connections of the pool, as when it restarts.
		await postgres.pool.query(`
			select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()`)
		await eventually(async () => {
			const { problems, outboxes } = await overviewOf(url)
			expect(problems).toMatchObject([{ kind: 'no-relay' }])
			expect(outboxes).toMatchObject([{ totals: { due: { count: 1 } } }])
		})
	})
})

describe('yaoki top --database postgres://', () => {
	test('prints the figures once, without the password', async () => {
		const { args, outbox, password } = await database()
		await enqueue(outbox, 'billing', 2)
		const { code, stdout, stderr } = await run(['top', ...args, '--once'])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(stdout.split('\n')[0]).toMatch(/^postgres.*: what the database knows$/)
		expect(stdout).toMatch(/^billing +sending +2 /m)
		expect(stdout).not.toContain(password)
		const json = await run(['top', ...args, '--json'])
		expect(JSON.parse(json.stdout)).toMatchObject({ isDatabaseOnly: true, outboxes: [{ source: 'outbox' }] })
	})

	test('reads the URL from a file, and again until Ctrl-C', async () => {
		const { schema, outbox } = await database()
		const file = join(temporaryFolder(), 'url.txt')
		writeFileSync(file, postgres.url, { mode: 0o600 })
		const top = start(['top', '--database-file', file, '--schema', schema, '--seconds', '0.2'])
		await eventually(() => expect(top.stdout.text).toContain('what the database knows'))
		await enqueue(outbox, 'billing', 2)
		await eventually(() => expect(top.stdout.text).toMatch(/^billing +sending +2 /m))
		top.interrupt()
		expect((await top.ended).code).toBe(130)
	})
})

test.each(['dashboard', 'top'])('yaoki %s says how to create missing tables', async (command) => {
	const url = new URL(postgres.url)
	const { code, stderr } = await run([command, '--database', url.href, '--schema', 'nowhere'])
	expect(code).toBe(1)
	expect(stderr).toContain('has no tables of an outbox or an inbox')
	expect(stderr).toMatch(/yaoki outbox migrate --database \S+ --schema nowhere/)
})
