import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Outbox, sqliteStore } from '../../../src/outbox/index.ts'
import { Spawned } from '../spawned.ts'
import { enqueue } from './letters.ts'
import { folder, run, start } from './terminal.ts'

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

let file: string
let outbox: Outbox

beforeEach(async () => {
	file = join(folder(), 'shop.db')
	outbox = new Outbox({ store: sqliteStore({ file }) })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
})

/** A server that answers as it is told, and where it is. */
async function listening(answer: RequestListener): Promise<string> {
	const server = createServer(answer)
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
}

async function mailbox(): Promise<{ readonly url: string; readonly got: IncomingHttpHeaders[] }> {
	const got: IncomingHttpHeaders[] = []
	const url = await listening((request, response) => {
		got.push(request.headers)
		request.resume().on('end', () => response.writeHead(204).end())
	})
	return { url, got }
}

describe('a relay', () => {
	test('posts every message whatever its destination, until Ctrl-C, and then tells how many it were', async () => {
		const { url, got } = await mailbox()
		const ids = [...(await enqueue(outbox, 'billing', 2)), ...(await enqueue(outbox, 'mail', 1))]
		const words = ['relay', '--database', file, '--to', url, '--header', 'X-Team: shop', '--json']
		const relay = start(words)
		await expect.poll(() => got.length, { timeout: 15_000 }).toBe(3)
		await expect.poll(async () => (await outbox.stats()).totals.inFlight.count, { timeout: 15_000 }).toBe(0)
		relay.interrupt()
		const { code, stdout, stderr } = await relay.ended
		expect(code).toBe(130)
		expect(JSON.parse(stdout)).toMatchObject({ sent: 3, failed: 0, dead: 0 })
		expect(stderr).toContain(`Sending every message of ${file} to ${url}. Ctrl-C stops it.`)
		expect(got.map((headers) => headers['idempotency-key']).sort()).toEqual(ids.toSorted())
		expect(got.every((headers) => headers['x-team'] === 'shop')).toBe(true)
	})

	test('sends only what it is asked to send', async () => {
		const { url, got } = await mailbox()
		await enqueue(outbox, 'mail', 1)
		const [id] = await enqueue(outbox, 'billing', 1)
		const relay = start(['relay', '--database', file, '--to', url, '--destination', 'billing'])
		await expect
			.poll(() => got.map((headers) => headers['idempotency-key']), { timeout: 15_000 })
			.toEqual([id])
		relay.interrupt()
		expect((await relay.ended).stdout).toBe('In all: sent 1.\n')
		expect((await outbox.stats()).totals.due.count).toBe(1)
	})

	test('keeps what the receiver said: of a 422 "no such product" only the number was kept', async () => {
		const url = await listening((request, response) => {
			request.resume().on('end', () => response.writeHead(422).end('no such product\nplease see the manual'))
		})
		const [id = ''] = await enqueue(outbox, 'mail', 1)
		const relay = start(['relay', '--database', file, '--to', url])
		await expect.poll(async () => (await outbox.find(id))?.status, { timeout: 15_000 }).toBe('dead')
		relay.interrupt()
		await relay.ended
		const { stdout } = await run(['outbox', 'list', '--database', file])
		expect(stdout).toMatch(/HttpError: HTTP 422 for POST \S+: no such product\n/)
	})

	test.each([
		[[], '--to is missing'],
		[['--to', 'nowhere'], '--to takes an address'],
		[['--to', 'http://a', '--header', 'nonsense'], "--header takes 'name: value'"],
		[['--to', 'http://a', '--lease', 'long'], "--lease: got 'long'"],
		[['--to', 'http://a', '--lease', '49ms'], "--lease: got '49ms'; takes a time"],
		[['--to', 'http://a', '--timeout', '0s'], "--timeout: got '0s'; takes a time"],
		[['--to', 'http://a', '--concurrency', '0'], '--concurrency'],
	])('%j is refused before anything is sent', async (words, told) => {
		const { code, stderr } = await run(['relay', '--database', file, ...words])
		expect(code).toBe(2)
		expect(stderr).toContain(told)
	})

	test('takes the shortest lease and time limit that it says it takes', async () => {
		const { url } = await mailbox()
		const relay = start(['relay', '--database', file, '--to', url, '--lease', '50ms', '--timeout', '1ms'])
		await expect.poll(() => relay.stderr.text, { timeout: 15_000 }).toContain('Sending every message')
		relay.interrupt()
		expect(await relay.ended).toMatchObject({ code: 130 })
	})

	test('of a database that can not be reached is exit code 5', async () => {
		const { code, stderr } = await run(['relay', '--to', 'http://127.0.0.1:1'], {
			DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop',
		})
		expect(code).toBe(5)
		expect(stderr).toContain('postgres://ada@127.0.0.1:1/shop could not be reached')
		expect(stderr).not.toContain('hunter2')
	})
})

describe.skipIf(process.platform === 'win32')('SIGTERM', () => {
	test('lets a relay finish what is under way, and ends it well', async () => {
		let answer = () => {}
		const url = await listening((_, response) => {
			answer = () => response.writeHead(204).end()
			child.process.kill('SIGTERM')
		})
		const [id = ''] = await enqueue(outbox, 'mail', 1)
		const child = new Spawned(MAIN, ['relay', '--database', file, '--to', url])
		await child.prints('Stopping')
		answer()
		expect(await child.ended()).toMatchObject({ code: 0, stdout: 'In all: sent 1.\n' })
		expect(await outbox.find(id)).toBeUndefined()
	})

	test('a second time ends it at once', async () => {
		const url = await listening(() => child.process.kill('SIGTERM'))
		await enqueue(outbox, 'mail', 1)
		const child = new Spawned(MAIN, ['relay', '--database', file, '--to', url])
		await child.prints('Stopping')
		child.process.kill('SIGTERM')
		expect(await child.ended()).toMatchObject({ code: null, signal: 'SIGTERM' })
	})
})
