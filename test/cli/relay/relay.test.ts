import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Outbox, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { enqueue } from '../outbox/fixtures.ts'
import { run, start } from '../outbox/run-yaoki.ts'
import { MAIN, Spawned } from '../spawned.ts'

let file: string
let outbox: Outbox

beforeEach(async () => {
	file = join(temporaryFolder(), 'shop.db')
	outbox = new Outbox({ store: sqliteOutboxStore({ file }) })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
})

/** Starts a server and returns its URL. */
async function startServer(onRequest: RequestListener): Promise<string> {
	const server = createServer(onRequest)
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
}

async function recordingServer(): Promise<{
	readonly url: string
	readonly received: IncomingHttpHeaders[]
}> {
	const received: IncomingHttpHeaders[] = []
	const url = await startServer((request, response) => {
		received.push(request.headers)
		request.resume().on('end', () => response.writeHead(204).end())
	})
	return { url, received }
}

describe('a relay', () => {
	test('posts the messages of all destinations until Ctrl-C, then prints the counts', async () => {
		const { url, received } = await recordingServer()
		const ids = [...(await enqueue(outbox, 'billing', 2)), ...(await enqueue(outbox, 'mail', 1))]
		const args = ['relay', '--database', file, '--to', url, '--header', 'X-Team: shop', '--json']
		const relay = start(args)
		await expect.poll(() => received.length, { timeout: 50_000 }).toBe(3)
		await expect.poll(async () => (await outbox.stats()).totals.inFlight.count, { timeout: 50_000 }).toBe(0)
		relay.interrupt()
		const { code, stdout, stderr } = await relay.ended
		expect(code).toBe(130)
		expect(JSON.parse(stdout)).toMatchObject({ sent: 3, failed: 0, dead: 0 })
		expect(stderr).toContain(
			`Sending all messages of ${file} to ${new URL(url).origin}. Press Ctrl-C to stop.`,
		)
		expect(received.map((headers) => headers['idempotency-key']).sort()).toEqual(ids.toSorted())
		expect(new Set(received.map((headers) => headers['x-team']))).toEqual(new Set(['shop']))
	})

	test('sends only the messages of the given destination', async () => {
		const { url, received } = await recordingServer()
		await enqueue(outbox, 'mail', 1)
		const [id] = await enqueue(outbox, 'billing', 1)
		const relay = start(['relay', '--database', file, '--to', url, '--destination', 'billing'])
		await expect
			.poll(() => received.map((headers) => headers['idempotency-key']), { timeout: 50_000 })
			.toEqual([id])
		relay.interrupt()
		expect((await relay.ended).stdout).toBe('Total: sent 1.\n')
		expect((await outbox.stats()).totals.due.count).toBe(1)
	})

	test('stores the response text of a 422, not only the status', async () => {
		const url = await startServer((request, response) => {
			request.resume().on('end', () => response.writeHead(422).end('no such product\nplease see the manual'))
		})
		const [id = ''] = await enqueue(outbox, 'mail', 1)
		const relay = start(['relay', '--database', file, '--to', url])
		await expect.poll(async () => (await outbox.find(id))?.status, { timeout: 50_000 }).toBe('dead')
		relay.interrupt()
		await relay.ended
		const { stdout } = await run(['outbox', 'list', '--database', file])
		expect(stdout).toMatch(/HttpError: HTTP 422 for POST \S+: no such product\n/)
	})

	test.each([
		[[], '--to is required'],
		[['--to', 'nowhere'], '--to must be a URL'],
		[['--to', 'http://a', '--header', 'nonsense'], "must have the form 'name: value'"],
		[['--to', 'http://a', '--lease', 'long'], '--lease'],
		[['--to', 'http://a', '--lease', '49ms'], '--lease'],
		[['--to', 'http://a', '--timeout', '0s'], '--timeout'],
		[['--to', 'http://a', '--max-concurrent', '0'], '--max-concurrent'],
	])('rejects %j before anything is sent', async (args, message) => {
		const { code, stderr } = await run(['relay', '--database', file, ...args])
		expect(code).toBe(2)
		expect(stderr).toContain(message)
	})

	test('accepts the minimum lease and timeout', async () => {
		const { url } = await recordingServer()
		const relay = start(['relay', '--database', file, '--to', url, '--lease', '50ms', '--timeout', '1ms'])
		await expect.poll(() => relay.stderr.text, { timeout: 50_000 }).toContain('Sending all messages')
		relay.interrupt()
		expect(await relay.ended).toMatchObject({ code: 130 })
	})

	test('exits with 5 for an unreachable database', async () => {
		const { code, stderr } = await run(['relay', '--to', 'http://127.0.0.1:1'], {
			DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop',
		})
		expect(code).toBe(5)
		expect(stderr).toContain('Cannot reach postgres://ada@127.0.0.1:1/shop')
		expect(stderr).not.toContain('hunter2')
	})
})

describe.skipIf(process.platform === 'win32')('SIGTERM', () => {
	test('lets the relay finish messages in flight, and exits with 0', async () => {
		let respond = () => {}
		const url = await startServer((_, response) => {
			respond = () => response.writeHead(204).end()
			child.process.kill('SIGTERM')
		})
		const [id = ''] = await enqueue(outbox, 'mail', 1)
		const child = new Spawned(MAIN, ['relay', '--database', file, '--to', url])
		await child.prints('Stopping')
		respond()
		expect(await child.ended()).toMatchObject({ code: 0, stdout: 'Total: sent 1.\n' })
		expect(await outbox.find(id)).toBeUndefined()
	})

	test('sent twice ends the relay immediately', async () => {
		const url = await startServer(() => child.process.kill('SIGTERM'))
		await enqueue(outbox, 'mail', 1)
		const child = new Spawned(MAIN, ['relay', '--database', file, '--to', url])
		await child.prints('Stopping')
		child.process.kill('SIGTERM')
		expect(await child.ended()).toMatchObject({ code: null, signal: 'SIGTERM' })
	})
})
