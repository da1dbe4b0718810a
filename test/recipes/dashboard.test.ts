/** The dashboard in NestJS and Next.js, from the packed package. test/dashboard/server has the other frameworks. */
import 'reflect-metadata'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { expect, onTestFinished, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { type Dashboard, dashboard } from 'yaoki/dashboard'
import { ROOT } from '../../scripts/tools.ts'
import { buildNext, LIMIT, startNext } from './support/next.ts'
import { CODE } from './support/recipes.ts'

const BASE = '/ops/retries'

/** All files of the page, also those that it loads later. */
const FILES: Readonly<Record<string, { readonly type: string }>> = JSON.parse(
	readFileSync(join(ROOT, 'dist', 'dashboard-page.json'), 'utf8'),
)

/** Opens the page as a browser does, loads all that it consists of, reads its API, follows its stream, and does an action. */
async function usePage(origin: string): Promise<void> {
	const opened = await fetch(`${origin}${BASE}`)
	const html = await opened.text()
	expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
	const links = [...html.matchAll(/(?:src|href)="?(?!data:)([^"\s>]+)/g)].map(
		([, link = '']) => new URL(link, opened.url).href,
	)
	const segment = `${origin}${BASE}/_yaoki`
	expect(links).toEqual(expect.arrayContaining([`${segment}/app.js`, `${segment}/app.css`]))
	for (const [name, { type }] of Object.entries(FILES)) {
		if (name === 'index.html') continue
		const response = await fetch(`${segment}/${name}`)
		expect([name, response.status, response.headers.get('content-type')]).toEqual([name, 200, type])
		expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0)
	}
	expect((await fetch(`${segment}/nothing.js`)).status).toBe(404)

	const overview = async () => (await fetch(`${segment}/api/overview`)).json()
	const { access, circuits } = await overview()
	expect([access, circuits]).toMatchObject(['all', [{ source: 'payments', state: 'closed' }]])
	const stream = await fetch(`${segment}/api/stream`)
	expect(stream.headers.get('content-type')).toBe('text/event-stream')
	const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
	let text = ''
	while (!text.includes('"source":"payments"')) text += (await events?.read())?.value ?? ''
	await events?.cancel()

	const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';')
	const token = /<meta name="yaoki-token" content="([^"]+)/.exec(html)?.[1] ?? ''
	const post = (name: string, action: object, headers: Readonly<Record<string, string>>) =>
		fetch(`${segment}/api/${name}`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', origin, cookie, ...headers },
			body: JSON.stringify(action),
		})
	const isolate = { action: 'isolate', source: 'payments', circuit: circuits[0].id }
	expect((await post('action', isolate, {})).status).toBe(403)
	const acted = await post('action', isolate, { 'x-yaoki-token': token })
	expect([acted.status, await acted.json()]).toMatchObject([200, { job: null }])
	expect((await overview()).circuits).toMatchObject([{ state: 'isolated' }])
}

function createPage(): Dashboard {
	const page = dashboard({ observe: { payments: circuitBreaker() }, authorize: () => 'all' })
	onTestFinished(() => page.close())
	return page
}

class AppModule {}
Module({})(AppModule)

test('NestJS on Express', async () => {
	const app = await NestFactory.create(AppModule, { logger: false })
	// A prefix is for controllers, not for middleware.
	app.setGlobalPrefix('api')
	app.use(BASE, createPage().node)
	onTestFinished(() => app.close())
	await app.listen(0, '127.0.0.1')
	await usePage(await app.getUrl())
})

test('NestJS on Fastify', async () => {
	const adapter = new FastifyAdapter({ forceCloseConnections: true })
	const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: false })
	app.setGlobalPrefix('api')
	await app.register(createPage().fastify, { prefix: BASE })
	onTestFinished(() => app.close())
	await app.listen(0, '127.0.0.1')
	await usePage(await app.getUrl())
})

test('a production build of Next.js', LIMIT, async () => {
	const folder = join(CODE, 'next-dashboard')
	const route = join(folder, 'app', BASE, '[[...path]]')
	mkdirSync(route, { recursive: true })
	writeFileSync(
		join(folder, 'next.config.mjs'),
		`export default ${JSON.stringify({ turbopack: { root: ROOT } })}\n`,
	)
	writeFileSync(
		join(route, 'route.js'),
		`import { circuitBreaker } from 'yaoki'
import { dashboard } from 'yaoki/dashboard'

const page = dashboard({ observe: { payments: circuitBreaker() }, authorize: () => 'all' })

export { page as GET, page as POST }
`,
	)
	await buildNext(folder)
	await usePage(await startNext(folder, 'start'))
})
