/** `yaoki dashboard` and `yaoki top --database`, with databases in files. */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { MessageView } from '../../../src/dashboard/contract.ts'
import { Inbox, Outbox, sqliteInboxStore, sqliteOutboxStore, Webhooks } from '../../../src/outbox/index.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { enqueue } from '../outbox/fixtures.ts'
import { run, start } from '../outbox/run-yaoki.ts'
import { MAIN, Spawned } from '../spawned.ts'
import { overviewOf, serve } from './serve.ts'

async function database() {
	const file = join(temporaryFolder(), 'shop.db')
	const outbox = new Outbox({ store: sqliteOutboxStore({ file }) })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	return { file, outbox }
}

describe('yaoki dashboard', () => {
	test('serves what the database knows on loopback until Ctrl-C', async () => {
		const { file, outbox } = await database()
		await enqueue(outbox, 'billing', 2)
		const running = await serve(['--database', file])
		expect(new URL(running.url).hostname).toBe('127.0.0.1')
		const overview = await overviewOf(running.url)
		expect(overview).toMatchObject({ access: 'all', isDatabaseOnly: true, circuits: [], webhooks: [] })
		expect(overview.outboxes).toMatchObject([
			{ source: 'outbox', destinations: [{ destination: 'billing', due: { count: 2 } }] },
		])
		expect(running.stderr.text).toContain(`The dashboard of ${file}. Press Ctrl-C to end it.`)
		running.interrupt()
		expect((await running.ended).code).toBe(130)
		await expect(fetch(running.url)).rejects.toThrow()
	})

	test('shows webhooks and each inbox, if the database has them', async () => {
		const { file, outbox } = await database()
		const webhooks = new Webhooks(outbox)
		await webhooks.endpoints.create({ url: 'https://customer.example.com/hooks', topics: ['*'] })
		const inbox = new Inbox({ store: sqliteInboxStore(file), name: 'stripe' })
		onTestFinished(() => inbox.close())
		await inbox.migrate()
		const { DatabaseSync } = await import('node:sqlite')
		const tx = new DatabaseSync(file)
		tx.exec('BEGIN IMMEDIATE')
		inbox.onceSync('evt_1', { tx }, () => undefined)
		tx.exec('COMMIT')
		tx.close()
		const overview = await overviewOf((await serve(['--database', file])).url)
		expect(overview.webhooks).toMatchObject([{ source: 'webhooks', enabled: 1 }])
		expect(overview.inboxes).toMatchObject([{ source: 'stripe', marks: { count: 1 } }])
	})

	test('changes something only without --read-only, and says it in the overview', async () => {
		const { file } = await database()
		const { url } = await serve(['--database', file, '--read-only'])
		expect((await overviewOf(url)).access).toBe('read')
		const response = await fetch(`${url}_yaoki/api/action`, { method: 'POST', body: '{}' })
		expect(response.status).toBe(403)
	})

	test.each([[[]], [['--read-only']]])(
		'with %j rejects the name of another site that leads to this machine',
		async (args) => {
			const { file } = await database()
			const { url } = await serve(['--database', file, ...args])
			const { request } = await import('node:http')
			const status = await new Promise((resolve, reject) => {
				request(url, { headers: { host: 'attacker.example' } }, ({ statusCode }) => resolve(statusCode))
					.on('error', reject)
					.end()
			})
			expect(status).toBe(401)
		},
	)

	test.each([[[]], [['--read-only']]])(
		'with %j rejects what a proxy on this machine sends for others',
		async (args) => {
			const { file } = await database()
			const { url } = await serve(['--database', file, ...args])
			const response = await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.7' } })
			expect(response.status).toBe(401)
		},
	)

	test('shows commands that select the same database', async () => {
		const { file, outbox } = await database()
		const [id = ''] = await enqueue(outbox, 'billing', 1)
		const { url } = await serve(['--database', file])
		const message: MessageView = await (await fetch(`${url}_yaoki/api/message?outbox=outbox&id=${id}`)).json()
		expect(message.actions.length).toBeGreaterThan(0)
		for (const { command } of message.actions) expect(command).toContain(`--database ${file}`)
	})

	test('shows neither payload nor redacted fields, if asked for', async () => {
		const { file, outbox } = await database()
		const payload = { email: 'ada@example.com', amount: 5 }
		const { id } = await outbox.enqueue({ topic: 'a', destination: 'billing', payload })
		const payloadOf = async (...args: readonly string[]) => {
			const { url } = await serve(['--database', file, ...args])
			const message: MessageView = await (
				await fetch(`${url}_yaoki/api/message?outbox=outbox&id=${id}`)
			).json()
			return message.payload
		}
		expect(await payloadOf()).toContain('ada@example.com')
		const redacted = await payloadOf('--redact', 'email')
		expect(redacted).toContain('5')
		expect(redacted).not.toContain('ada@')
		expect(await payloadOf('--no-payload')).toBe(null)
	})

	test('prints the URL as JSON with --json', async () => {
		const { file } = await database()
		const running = start(['dashboard', '--port', '0', '--database', file, '--json'])
		await eventually(() => expect(running.stdout.text).not.toBe(''))
		running.interrupt()
		const { stdout } = await running.ended
		expect(JSON.parse(stdout).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
	})

	test('says what to do if the port is in use', async () => {
		const server = createServer()
		const port = await listen(server)
		onTestFinished(() => void server.close())
		const { file } = await database()
		const { code, stderr } = await run(['dashboard', '--database', file, '--port', `${port}`])
		expect(code).toBe(1)
		expect(stderr).toContain(`Port ${port} is in use by another program.`)
		expect(stderr).toContain('--port 0')
	})

	test.skipIf(process.platform === 'win32')('SIGTERM ends it with exit code 0', async () => {
		const { file } = await database()
		const child = new Spawned(MAIN, ['dashboard', '--database', file, '--port', '0'])
		await child.prints('Press Ctrl-C')
		child.process.kill('SIGTERM')
		expect(await child.ended()).toMatchObject({ code: 0 })
	})
})

describe.each([['dashboard'], ['top']])('yaoki %s without a usable database', (command) => {
	test('says how to create the tables', async () => {
		const file = join(temporaryFolder(), 'empty.db')
		const { DatabaseSync } = await import('node:sqlite')
		new DatabaseSync(file).close()
		const { code, stderr } = await run([command, '--database', file])
		expect(code).toBe(1)
		expect(stderr).toContain('has no tables of an outbox or an inbox')
		expect(stderr).toContain(`yaoki outbox migrate --database ${file}`)
	})

	test('exits with 5 for a file that does not exist', async () => {
		const { code, stderr } = await run([command, '--database', join(temporaryFolder(), 'missing.db')])
		expect(code).toBe(5)
		expect(stderr).toContain('does not exist')
	})

	test('exits with 5 for an unreachable server, without its password', async () => {
		const env = { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop' }
		const { code, stderr } = await run([command], env)
		expect(code).toBe(5)
		expect(stderr).toContain('Cannot reach postgres://ada@127.0.0.1:1/shop')
		expect(stderr).not.toContain('hunter2')
	})

	test('exits with 2 for something that is not a database', async () => {
		const { code, stderr } = await run([command, '--database', 'mysql://ada:hunter2@db/shop'])
		expect(code).toBe(2)
		expect(stderr).toContain('--database')
		expect(stderr).not.toContain('hunter2')
	})
})

describe('yaoki top --database', () => {
	test('prints the figures of the outbox once', async () => {
		const { file, outbox } = await database()
		await enqueue(outbox, 'billing', 2)
		const { code, stdout } = await run(['top', '--database', file, '--once'])
		expect(code).toBe(0)
		expect(stdout.split('\n')[0]).toBe(`${file}: what the database knows`)
		expect(stdout).toMatch(/^billing +sending +2 /m)
	})

	test('reads again until Ctrl-C', async () => {
		const { file, outbox } = await database()
		const top = start(['top', '--database', file, '--seconds', '0.2'])
		await eventually(() => expect(top.stdout.text).toContain('what the database knows'))
		await enqueue(outbox, 'billing', 2)
		await eventually(() => expect(top.stdout.text).toMatch(/^billing +sending +2 /m))
		top.interrupt()
		expect((await top.ended).code).toBe(130)
	})

	test('prints an overview as JSON', async () => {
		const { file } = await database()
		const { stdout } = await run(['top', '--database', file, '--json'])
		expect(JSON.parse(stdout)).toMatchObject({ isDatabaseOnly: true, outboxes: [{ source: 'outbox' }] })
	})
})
