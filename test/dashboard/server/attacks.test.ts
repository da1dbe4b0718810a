/** What a hostile client or network sends over loopback, byte by byte: `fetch` would not send it. */
import { createServer, type RequestListener } from 'node:http'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { YaokiError } from 'yaoki'
import type { Dashboard } from '../../../src/dashboard/dashboard.ts'
import { listen } from '../../support/listen.ts'
import { fakeDashboard, PAUSE } from './fake-parts.ts'
import { visit, writeOf } from './visit.ts'

const OVERVIEW = '/_yaoki/api/overview'
const API = `http://localhost${OVERVIEW}`
const OTHER = 'cd'.repeat(32)

/** Sends the head of a request as it is. Returns the whole response. */
async function send(port: number, head: string): Promise<string> {
	const socket = connect(port, '127.0.0.1')
	socket.write(`${head}\r\nConnection: close\r\n\r\n`)
	let text = ''
	for await (const chunk of socket) text += chunk
	return text
}

const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1])

async function serve(listener: RequestListener): Promise<number> {
	const server = createServer(listener)
	const port = await listen(server)
	onTestFinished(() => void server.close())
	return port
}

describe('without authorize', () => {
	const mounts: readonly [string, (page: Dashboard) => RequestListener][] = [
		['node:http', (page) => page.node],
		['Hono', (page) => getRequestListener(new Hono().all('/*', page.hono).fetch) as RequestListener],
	]
	test.each(mounts)('%s gives nothing to requests that did not come from here', async (_, listener) => {
		const { page, parts } = fakeDashboard({ authorize: undefined })
		const port = await serve(listener(page))
		const local = `Host: 127.0.0.1:${port}`
		const heads = [
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: localhost.evil.example`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: 127.0.0.1:80@evil`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: evil@127.0.0.1:80`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: 127.0.0.1:80/x`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: localhost#evil`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: `,
			`GET ${OVERVIEW} HTTP/1.1`,
			`GET ${OVERVIEW} HTTP/1.0`,
			// The default of nginx in front of a server on its machine: no header of a proxy, and the name of that server.
			`GET ${OVERVIEW} HTTP/1.0\r\n${local}`,
			`GET ${OVERVIEW} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost`,
			...['X-Forwarded-For', 'Forwarded', 'X-Original-Forwarded-For', 'Fastly-Client-IP', 'CF-Ray'].map(
				(name) => `GET ${OVERVIEW} HTTP/1.1\r\n${local}\r\n${name}: 127.0.0.1`,
			),
		]
		for (const head of heads) {
			const response = await send(port, head)
			expect([head, statusOf(response)]).toEqual([
				head,
				expect.toSatisfy((status) => [400, 401].includes(status)),
			])
		}
		expect(parts.overviews).toBe(0)
		expect(statusOf(await send(port, `GET ${OVERVIEW} HTTP/1.1\r\n${local}`))).toBe(200)
	})
})

describe('the URL that authorize gets', () => {
	test('has the host of the request, whatever the target is', async () => {
		const urls: string[] = []
		const authorize = ({ url }: Request) => {
			urls.push(url)
			return 'all' as const
		}
		const { page } = fakeDashboard({ authorize })
		const port = await serve(page.node)
		const targets = [
			[`//admin.internal${OVERVIEW}`, 'shop.test'],
			[`http://admin.internal${OVERVIEW}`, 'shop.test'],
			[OVERVIEW, 'shop.test/admin?'],
			[OVERVIEW, 'shop.test@admin.internal'],
			['*', 'shop.test'],
		]
		for (const [target, host] of targets) await send(port, `GET ${target} HTTP/1.1\r\nHost: ${host}`)
		expect(urls).toEqual([`http://shop.test//admin.internal${OVERVIEW}`])
	})

	test('is not of localhost if the client names no host', async () => {
		const authorize = vi.fn(() => 'all' as const)
		const { page } = fakeDashboard({ authorize })
		const port = await serve(page.node)
		expect(statusOf(await send(port, `GET ${OVERVIEW} HTTP/1.0`))).toBe(400)
		expect(authorize).not.toHaveBeenCalled()
	})
})

test('a header that no web request may have gives 400, and does not end the process', async () => {
	const { page } = fakeDashboard()
	const port = await serve((request, response) => {
		// As a middleware does that has found the user.
		request.headers['x-user'] = '八起き'
		page.node(request, response)
	})
	expect(statusOf(await send(port, `GET ${OVERVIEW} HTTP/1.1\r\nHost: shop.test`))).toBe(400)
})

describe('an error of the package that user code throws is not for the client', () => {
	const fail = () => {
		throw new YaokiError('YAOKI_CIRCUIT_OPEN', 'http://auth.internal:8080 failed 3 times')
	}
	test('of authorize', async () => {
		vi.spyOn(console, 'warn').mockReturnValue()
		const { page } = fakeDashboard({ authorize: fail })
		const response = await page(new Request(API))
		const text = await response.text()
		expect(response.status).toBe(500)
		expect(text).not.toContain('auth.internal')
	})

	test('of actor', async () => {
		vi.spyOn(console, 'warn').mockReturnValue()
		const { page, parts } = fakeDashboard({ actor: fail })
		const visited = await visit('http://localhost/', (url) => page(new Request(url)))
		const response = await page(new Request('http://localhost/_yaoki/api/action', writeOf(visited, PAUSE)))
		const text = await response.text()
		expect([response.status, parts.ran]).toEqual([500, []])
		expect(text).not.toContain('auth.internal')
	})
})

describe('a script of another site', () => {
	// An application that allows all origins would let it read what loopback shows.
	test.each<Record<string, string>>([
		{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', origin: 'https://evil.example' },
		{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', origin: 'http://localhost:9' },
		{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
		{ origin: 'https://evil.example' },
		{ origin: 'null' },
	])('cannot read with %j', async (headers) => {
		const { page, parts } = fakeDashboard()
		for (const path of ['/', '/_yaoki/app.js', OVERVIEW, '/_yaoki/api/stream', '/_yaoki/api/messages']) {
			const response = await page(new Request(`http://localhost${path}`, { headers }))
			expect([path, response.status, await response.json()]).toMatchObject([
				path,
				403,
				{ code: 'cross-origin' },
			])
		}
		expect([parts.overviews, parts.asked]).toEqual([0, []])
	})

	test.each<Record<string, string>>([
		{},
		{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
		{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
		{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
		// Node's fetch sends the mode alone.
		{ 'sec-fetch-mode': 'cors' },
		{ origin: 'http://localhost' },
	])('and a page, a link and a tool can, with %j', async (headers) => {
		const { page } = fakeDashboard()
		expect((await page(new Request(API, { headers }))).status).toBe(200)
	})
})

describe('a cookie that a neighbor domain has set', () => {
	test('for a longer path does not stop the writes of the page', async () => {
		const { page, parts } = fakeDashboard()
		const visited = await visit('http://localhost/', (url) => page(new Request(url)))
		const cookie = `yaoki_token=${OTHER}; ${visited.cookie}`
		const write = (headers: Record<string, string>) =>
			page(new Request('http://localhost/_yaoki/api/action', writeOf(visited, PAUSE, { cookie, ...headers })))
		expect((await write({})).status).toBe(200)
		// A site that knows its own cookie is still another origin.
		expect((await write({ 'x-yaoki-token': OTHER, origin: 'http://evil.localhost' })).status).toBe(403)
		expect((await write({ 'x-yaoki-token': 'ef'.repeat(32) })).status).toBe(403)
		expect(parts.ran).toHaveLength(1)
	})
})

test('viewers that reconnect again and again leave no stream behind', async () => {
	const { page } = fakeDashboard()
	// More than may be open at the same time.
	for (let viewer = 0; viewer < 1_100; viewer++) {
		const left = new AbortController()
		const response = await page(
			new Request('http://localhost/_yaoki/api/stream', { signal: viewer % 2 ? left.signal : null }),
		)
		expect(response.status).toBe(200)
		if (viewer % 2) left.abort()
		else await response.body?.cancel()
	}
})

test('another origin cannot put the page into a frame, and no proxy stores it', async () => {
	const { page } = fakeDashboard()
	for (const path of ['/', OVERVIEW]) {
		const { headers } = await page(new Request(`http://localhost${path}`))
		expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
		expect([headers.get('x-frame-options'), headers.get('cache-control')]).toEqual(['DENY', 'no-store'])
	}
})

test.each([
	['pause', PAUSE],
	['isolate', { action: 'isolate', source: 'payments', circuit: 'c1' }],
])('an action that is still asking who acts when the dashboard closes is not done: %s', async (_, action) => {
	const asked = Promise.withResolvers<void>()
	const name = Promise.withResolvers<string>()
	const { page, parts } = fakeDashboard({
		actor: () => {
			asked.resolve()
			return name.promise
		},
	})
	const visited = await visit('http://localhost/', (url) => page(new Request(url)))
	const response = page(new Request('http://localhost/_yaoki/api/action', writeOf(visited, action)))
	await asked.promise
	await page.close()
	name.resolve('ada')
	expect([(await response).status, parts.ran]).toEqual([503, []])
})

test.each<[string, string, number]>([
	['a body of deep arrays', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400],
	['an action of deep values', `{"action":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 200],
	['a prototype', '{"__proto__":{"action":"isolate","source":"payments","circuit":"c1"}}', 200],
	[
		'a circuit from a prototype',
		'{"action":"isolate","__proto__":{"source":"payments","circuit":"c1"}}',
		400,
	],
	['100,000 ids', JSON.stringify({ action: 'replay', selection: { ids: Array(100_000).fill('a') } }), 413],
])('%s does no harm', async (_, body, status) => {
	const { page } = fakeDashboard()
	const visited = await visit('http://localhost/', (url) => page(new Request(url)))
	const response = await page(new Request('http://localhost/_yaoki/api/action', writeOf(visited, body)))
	expect(response.status).toBe(status)
	expect(Object.hasOwn(Object.prototype, 'action')).toBe(false)
})
