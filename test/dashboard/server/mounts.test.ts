/** The dashboard under `/ops/retries/`, in every kind of server. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express, { type RequestHandler } from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Dashboard } from '../../../src/dashboard/dashboard.ts'
import { PAGE } from '../../../src/dashboard/server/page-data.ts'
import { listen } from '../../support/listen.ts'
import { circuitWith, fakeDashboard, PAUSE } from './fake-parts.ts'
import { linksOf, visit, writeOf } from './visit.ts'

const BASE = '/ops/retries'

async function started(server: Server): Promise<string> {
	const port = await listen(server)
	onTestFinished(async () => {
		server.closeAllConnections()
		server.close()
		await once(server, 'close')
	})
	return `http://127.0.0.1:${port}`
}

const expressWith =
	(create: typeof express, ...before: RequestHandler[]) =>
	(page: Dashboard) => {
		const app = create()
		for (const parser of before) app.use(parser)
		app.use(BASE, page.node)
		return started(createServer(app as RequestListener))
	}

const SERVERS: readonly (readonly [name: string, start: (page: Dashboard) => Promise<string>])[] = [
	['node:http', (page) => started(createServer(page.node))],
	['Express 4', expressWith(express4)],
	['Express 4 behind express.json()', expressWith(express4, express4.json())],
	[
		'Express 4 behind a parser of another type',
		expressWith(express4, express4.urlencoded({ extended: true })),
	],
	['Express 5', expressWith(express)],
	['Express 5 behind express.json()', expressWith(express, express.json())],
	['Express 5 behind express.text()', expressWith(express, express.text({ type: '*/*' }))],
	['Express 5 behind express.raw()', expressWith(express, express.raw({ type: '*/*' }))],
	[
		'a nested router of Express',
		(page) => {
			const app = express()
			const router = express.Router()
			app.use('/ops', router)
			router.use('/retries', page.node)
			return started(createServer(app))
		},
	],
	[
		'a framework that removes the prefix as Connect does',
		(page) => {
			return started(
				createServer((request, response) => {
					const url = request.url ?? ''
					request.url = url.slice(BASE.length) || '/'
					if (request.url.startsWith('?')) request.url = `/${request.url}`
					page.node(Object.assign(request, { originalUrl: url }), response)
				}),
			)
		},
	],
	[
		'Fastify',
		async (page) => {
			const app = fastify({ forceCloseConnections: true })
			await app.register(page.fastify, { prefix: BASE })
			onTestFinished(() => app.close())
			return app.listen({ port: 0, host: '127.0.0.1' })
		},
	],
	[
		'Hono',
		(page) => {
			const app = new Hono()
			app.all(`${BASE}/*`, page.hono)
			return started(createServer(getRequestListener(app.fetch)))
		},
	],
	[
		'Hono behind a middleware that reads the body',
		(page) => {
			const app = new Hono()
			app.use(async (c, next) => {
				if (c.req.method === 'POST') await c.req.json()
				await next()
			})
			app.all(`${BASE}/*`, page.hono)
			return started(createServer(getRequestListener(app.fetch)))
		},
	],
	['a fetch handler', (page) => started(createServer(getRequestListener(page)))],
	[
		'node:http behind a proxy that removes the prefix',
		async (page) => {
			const inner = createServer((request, response) => {
				request.url = request.url?.slice(BASE.length) || '/'
				page.node(request, response)
			})
			return started(inner)
		},
	],
]

describe.each(SERVERS)('%s', (_name, start) => {
	test('serves the page, everything it loads, the API, a stream and an action', async () => {
		const { page, parts } = fakeDashboard()
		parts.live = { ...parts.live, circuits: [circuitWith(7)] }
		const origin = await start(page)
		const visited = await visit(`${origin}${BASE}/`)
		expect(visited.token).toMatch(/^[0-9a-f]{64}$/)
		const links = linksOf(visited)
		expect(links).toEqual(
			expect.arrayContaining([`${origin}${BASE}/_yaoki/app.js`, `${origin}${BASE}/_yaoki/app.css`]),
		)
		const assets = Object.keys(PAGE).filter((name) => name !== 'index.html')
		for (const link of [...links, ...assets.map((name) => `${origin}${BASE}/_yaoki/${name}`)]) {
			const response = await fetch(link)
			expect([link, response.status]).toEqual([link, 200])
			expect(response.headers.get('content-type')).toBe(PAGE[link.split('/_yaoki/')[1] ?? '']?.type)
			await response.arrayBuffer()
		}

		const api = `${origin}${BASE}/_yaoki/api`
		expect(await (await fetch(`${api}/overview`)).json()).toMatchObject({
			access: 'all',
			circuits: [{ calls: 7 }],
		})
		expect((await fetch(`${api}/messages?outbox=orders&text=a%20b`)).status).toBe(200)
		expect(parts.asked.at(-1)).toEqual({ what: 'messages', query: { outbox: 'orders', text: 'a b' } })

		const stream = await fetch(`${api}/stream`)
		expect(stream.headers.get('content-type')).toBe('text/event-stream')
		const reader = stream.body?.getReader()
		let text = ''
		while (!text.includes('"calls":7')) text += new TextDecoder().decode((await reader?.read())?.value)
		expect(text).toMatch(/^retry: \d+\n\ndata: \{"at":\d+,"access":"all",/)
		await reader?.cancel()

		const { 'x-yaoki-token': _, ...tokenless } = Object(writeOf(visited, PAUSE).headers)
		const rejected = await fetch(`${api}/action`, { ...writeOf(visited, PAUSE), headers: tokenless })
		expect([rejected.status, await rejected.json()]).toMatchObject([403, { code: 'token' }])
		const replay = { action: 'replay', source: 'orders', selection: { all: true } }
		const plan = await fetch(`${api}/plan`, writeOf(visited, replay))
		expect([plan.status, await plan.json()]).toMatchObject([200, { matching: { count: 3 } }])
		expect(parts.ran).toEqual([])
		const acted = await fetch(`${api}/action`, writeOf(visited, PAUSE))
		expect([acted.status, await acted.json()]).toEqual([200, { changed: 1, job: null, command: null }])
		expect(parts.ran).toEqual([{ action: PAUSE, by: 'dashboard' }])

		const large = await fetch(`${api}/action`, writeOf(visited, { ...PAUSE, reason: 'x'.repeat(70_000) }))
		expect([large.status, await large.json()]).toMatchObject([413, { code: 'too-large' }])
		const missing = await fetch(`${api}/nothing`)
		expect([missing.status, await missing.json()]).toMatchObject([404, { code: 'not-found' }])
		expect(parts.ran).toHaveLength(1)
	})
})

describe.each(SERVERS.filter(([name]) => !/removes the prefix$/.test(name)))('%s', (name, start) => {
	test('redirects to the page if the path has no slash at its end', async () => {
		const { page } = fakeDashboard()
		const origin = await start(page)
		const redirected = await fetch(`${origin}${BASE}?source=a`, { redirect: 'manual' })
		const isFetch = name === 'a fetch handler'
		expect([redirected.status, redirected.headers.get('location')]).toEqual([
			302,
			isFetch ? './retries/_yaoki?source=a' : './retries/?source=a',
		])
		const visited = await fetch(`${origin}${BASE}`)
		const html = await visited.text()
		// What the page loads is the same for both forms of its path.
		expect(linksOf({ url: visited.url, html, token: '', cookie: '' })[0]).toMatch(
			new RegExp(`^${origin}${BASE}/_yaoki/app\\.`),
		)
	})
})

describe.each(SERVERS.filter(([name]) => /Express|Connect|Fastify|^Hono/.test(name)))(
	'%s',
	(_name, start) => {
		test('knows the path of the mount, and gives 404 for all others below it', async () => {
			const { page } = fakeDashboard()
			const origin = await start(page)
			for (const path of [
				'/orders',
				'/orders/',
				'/favicon.ico',
				'/orders/_yaoki/app.js',
				'/_yaoki/%2e%2e%2fapp.js',
			])
				expect([path, (await fetch(origin + BASE + path)).status]).toEqual([path, 404])
		})
	},
)

test('a route of Next.js, which removes a slash at the end, does not redirect in a circle', async () => {
	const { page } = fakeDashboard()
	// A route exports the handler as GET and POST, and Next passes parameters as a second argument.
	const GET: (request: Request, context: object) => Promise<Response> = page
	const redirected = await GET(new Request('http://shop.test/ops/retries'), { params: {} })
	const location = new URL(redirected.headers.get('location') ?? '', 'http://shop.test/ops/retries')
	expect(location.pathname).toBe('/ops/retries/_yaoki')
	const visited = await visit(location.href, (url) => GET(new Request(url), { params: {} }))
	const [link = ''] = linksOf(visited)
	expect(link).toMatch(/^http:\/\/shop\.test\/ops\/retries\/_yaoki\/app\./)
	expect((await GET(new Request(link), {})).status).toBe(200)
})

test('a route of Next.js, which removes content-encoding from responses, gets them uncompressed', async () => {
	const { page, parts } = fakeDashboard()
	parts.live = { ...parts.live, circuits: [circuitWith(7, 'x'.repeat(2_000))] }
	const get = (path: string, isNext: boolean) => {
		const request = new Request(`http://shop.test/ops/retries/_yaoki/${path}`, {
			headers: { 'accept-encoding': 'gzip' },
		})
		return page(isNext ? Object.assign(request, { nextUrl: new URL(request.url) }) : request)
	}
	for (const path of ['app.js', 'api/overview']) {
		const [plain, gzip] = [await get(path, true), await get(path, false)]
		expect([plain.headers.get('content-encoding'), gzip.headers.get('content-encoding')]).toEqual([
			null,
			'gzip',
		])
		const stream = gzip.body?.pipeThrough(new DecompressionStream('gzip')) ?? null
		const parse = (text: string) => (path === 'app.js' ? text : JSON.parse(text).circuits)
		expect(parse(await plain.text())).toEqual(parse(await new Response(stream).text()))
	}
})

test('finds a client in the body of HTTP/1 that ends early', async () => {
	const { page, parts } = fakeDashboard()
	const origin = await started(createServer(page.node))
	const visited = await visit(`${origin}${BASE}/`)
	const controller = new AbortController()
	const { body: _, ...init } = writeOf(visited, '')
	const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('{')) })
	const request = fetch(`${origin}${BASE}/_yaoki/api/action`, {
		...init,
		body,
		duplex: 'half',
		signal: controller.signal,
	} as RequestInit)
	controller.abort()
	await expect(request).rejects.toThrow()
	expect((await fetch(`${origin}${BASE}/`)).status).toBe(200)
	expect(parts.ran).toEqual([])
})
