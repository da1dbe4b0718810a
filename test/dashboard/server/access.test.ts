/** Who may use the dashboard: `authorize`, and without it this machine only. */
import { createServer, type RequestListener } from 'node:http'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { en } from '../../../dashboard-page/words/words-en.ts'
import type { Access } from '../../../src/dashboard/contract.ts'
import { findAccess } from '../../../src/dashboard/server/access.ts'
import type { Exchange } from '../../../src/dashboard/server/exchange.ts'
import { Rejection } from '../../../src/dashboard/server/rejection.ts'
import { listen } from '../../support/listen.ts'
import { fakeDashboard, PAUSE } from './fake-parts.ts'
import { visit, writeOf } from './visit.ts'

const ORIGIN = 'http://shop.test'
const PATHS = [
	'/',
	'/_yaoki/app.js',
	'/_yaoki/api/overview',
	'/_yaoki/api/stream',
	'/_yaoki/api/nothing',
	'/a/b.c',
]

describe('authorize', () => {
	test('is asked for every request, with the request of the framework', async () => {
		const authorize = vi.fn((_request: Request, _native: unknown): Access | false => false)
		const { page, parts } = fakeDashboard({ authorize })
		for (const path of PATHS) {
			const request = new Request(ORIGIN + path)
			const response = await page(request)
			expect([path, response.status, await response.json()]).toMatchObject([
				path,
				401,
				{ code: 'unauthorized' },
			])
			expect(authorize).toHaveBeenLastCalledWith(request, request)
		}
		expect(authorize).toHaveBeenCalledTimes(PATHS.length)
		expect([parts.overviews, parts.asked]).toEqual([0, []])
	})

	test('gets the request of Node with what a middleware has added', async () => {
		const authorize = async (_request: Request, native: unknown) =>
			Object(native).user === 'ada' && ('read' as const)
		const { page } = fakeDashboard({ authorize })
		const server = createServer((request, response) =>
			page.node(Object.assign(request, { user: request.headers['x-user'] }), response),
		)
		const url = `http://127.0.0.1:${await listen(server)}/_yaoki/api/overview`
		onTestFinished(() => void server.close())
		const headers = { 'x-user': 'ada', connection: 'close' }
		expect(await (await fetch(url, { headers })).json()).toMatchObject({ access: 'read' })
		expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(401)
	})

	test.each([
		[
			'throws',
			() => {
				throw new Error('db.internal refused ada:secret')
			},
		],
		['rejects', () => Promise.reject(new Error('db.internal refused ada:secret'))],
		['returns true', () => true],
		['returns nothing', () => undefined],
	])('gives no access if it %s, and the client does not see why', async (_, authorize) => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const { page, parts } = fakeDashboard({ authorize: authorize as never })
		for (let request = 0; request < 3; request++) {
			const response = await page(new Request(`${ORIGIN}/_yaoki/api/overview`))
			const text = await response.text()
			expect([response.status, JSON.parse(text).code]).toEqual([500, 'failed'])
			expect(text).not.toMatch(/db\.internal|secret|must return/)
		}
		expect(warn).toHaveBeenCalledTimes(1)
		expect(parts.overviews).toBe(0)
	})

	test('gets 10 s to settle, then the client gets 503 and the log a warning', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const runtime = virtualRuntime()
		const { page, parts } = fakeDashboard({ runtime, authorize: () => new Promise(() => {}) })
		const onSettled = vi.fn()
		const responding = page(new Request(`${ORIGIN}/_yaoki/api/overview`)).finally(onSettled)
		await runtime.advance(9_999)
		expect(onSettled).not.toHaveBeenCalled()
		await runtime.advance(1)
		expect(onSettled).toHaveBeenCalled()
		const response = await responding
		expect([response.status, await response.json()]).toEqual([
			503,
			{ code: 'timeout', message: expect.stringContaining('authorize') },
		])
		expect([parts.overviews, warn.mock.calls.length, runtime.pendingTimers]).toEqual([0, 1, 0])
	})

	test.each<[string, () => Promise<Access>]>([
		['settles', async () => 'all'],
		['rejects', () => Promise.reject(new Error('no session'))],
	])('leaves no timer if it %s', async (_, authorize) => {
		vi.spyOn(console, 'warn').mockReturnValue()
		const runtime = virtualRuntime()
		const { page } = fakeDashboard({ runtime, authorize })
		await page(new Request(`${ORIGIN}/_yaoki/api/calls`))
		expect(runtime.pendingTimers).toBe(0)
	})

	test('is not waited for when the client has left', async () => {
		const runtime = virtualRuntime()
		const asked = Promise.withResolvers<void>()
		const authorize = () => {
			asked.resolve()
			return new Promise<Access>(() => {})
		}
		const { page } = fakeDashboard({ runtime, authorize })
		const left = new AbortController()
		const request = new Request(`${ORIGIN}/_yaoki/api/overview`, { signal: left.signal })
		const responding = page(request)
		await asked.promise
		expect(runtime.pendingTimers).toBe(1)
		left.abort()
		await responding
		expect(runtime.pendingTimers).toBe(0)
	})

	test("may return 'read', which reads everything and writes nothing", async () => {
		const { page, parts } = fakeDashboard({ authorize: () => 'read' })
		const get = (url: string) => page(new Request(url))
		const visited = await visit(`${ORIGIN}/`, get)
		expect(await (await get(`${ORIGIN}/_yaoki/api/overview`)).json()).toMatchObject({ access: 'read' })
		expect((await get(`${ORIGIN}/_yaoki/api/calls`)).status).toBe(200)
		for (const action of Object.keys(en.buttons))
			for (const name of ['action', 'plan']) {
				const write = writeOf(visited, { ...PAUSE, action })
				const response = await page(new Request(`${ORIGIN}/_yaoki/api/${name}`, write))
				expect([action, response.status, await response.json()]).toMatchObject([
					action,
					403,
					{ code: 'read-only' },
				])
			}
		expect([parts.ran, parts.asked.map(({ what }) => what)]).toEqual([[], ['calls']])
	})
})

describe('without authorize', () => {
	const exchange = (address: string | undefined, headers: Record<string, string>): Exchange => ({
		request: new Request(ORIGIN, { headers: { host: 'localhost:3000', ...headers } }),
		native: undefined,
		path: '/',
		base: undefined,
		keepsSlash: true,
		peer: { address },
		readBody: () => Promise.reject(new Error('not read')),
	})
	const isAllowed = async (address: string | undefined, headers: Record<string, string> = {}) =>
		!((await findAccess(exchange(address, headers), { runtime: virtualRuntime() })) instanceof Rejection)

	test.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])('accepts %s', async (address) => {
		expect(await isAllowed(address)).toBe(true)
	})

	test.each(['10.0.0.1', '::2', '::ffff:10.0.0.1', '127.0.0.1.example', '1127.0.0.1', undefined])(
		'rejects %s',
		async (address) => {
			expect(await isAllowed(address)).toBe(false)
		},
	)

	test.each(['localhost', 'LOCALHOST:80', '127.0.0.1:8080', '[::1]', '[::1]:3000'])(
		'accepts the host %s',
		async (host) => {
			expect(await isAllowed('127.0.0.1', { host })).toBe(true)
		},
	)

	// DNS rebinding: the browser believes that 127.0.0.1 is a machine of the other site.
	test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '0.0.0.0', '[::]', ''])(
		'rejects the host %s, which DNS may lead to this machine',
		async (host) => {
			expect(await isAllowed('127.0.0.1', { host })).toBe(false)
		},
	)

	test.each([
		'x-forwarded-for',
		'X-Forwarded-Host',
		'x-forwarded-proto',
		'forwarded',
		'via',
		'x-real-ip',
		'cf-connecting-ip',
	])('rejects a request with %s, which a proxy sends for others', async (name) => {
		expect(await isAllowed('127.0.0.1', { [name]: '127.0.0.1' })).toBe(false)
	})

	test('serves node:http and Hono on this machine, and rejects another name of it', async () => {
		const { page } = fakeDashboard({ authorize: undefined })
		const app = new Hono().all('/*', page.hono)
		for (const listener of [page.node, getRequestListener(app.fetch)] as RequestListener[]) {
			const server = createServer(listener)
			const port = await listen(server)
			onTestFinished(() => void server.close())
			expect(await status(port, `127.0.0.1:${port}`)).toBe(200)
			expect(await status(port, 'rebound.example')).toBe(401)
		}
	})

	test('a fetch handler rejects everything, and says that authorize is missing', async () => {
		const { page } = fakeDashboard({ authorize: undefined })
		const response = await page(new Request('http://localhost/', { headers: { host: 'localhost' } }))
		const { message } = await response.json()
		expect([response.status, message]).toEqual([
			401,
			expect.stringContaining('Pass authorize to dashboard()'),
		])
	})

	test('Hono on a platform without addresses rejects everything', async () => {
		const { page } = fakeDashboard({ authorize: undefined })
		const app = new Hono().all('/*', page.hono)
		expect((await app.request('/', { headers: { host: 'localhost' } })).status).toBe(401)
	})
})

/** Returns the status of a request with this host, which fetch would not send. */
async function status(port: number, host: string): Promise<number> {
	const socket = connect(port, '127.0.0.1')
	socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
	let text = ''
	for await (const chunk of socket) text += chunk
	return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
}
