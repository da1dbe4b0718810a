/** The dashboard in NestJS, from the packed package. test/dashboard/server has the other frameworks. */
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { expect, onTestFinished, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { type Dashboard, type DashboardAction, dashboard } from 'yaoki/dashboard'

/** Starts an application with the dashboard. Returns the URL of the page. */
async function startApplication(page: Dashboard): Promise<string> {
	class AppModule {}
	Module({})(AppModule)
	const app = await NestFactory.create(AppModule, { logger: false })
	// A prefix is for controllers, not for middleware.
	app.setGlobalPrefix('api')
	app.use('/ops/retries', page.node)
	await app.listen(0, '127.0.0.1')
	onTestFinished(async () => {
		await page.close()
		await app.close()
	})
	return `${await app.getUrl()}/ops/retries/`
}

test('serves the page, all that it loads, and an action under /ops/retries/', async () => {
	const actions: DashboardAction[] = []
	const page = dashboard({
		observe: { payments: circuitBreaker() },
		authorize: () => 'all',
		actor: () => 'ada',
		onAction: (record) => void actions.push(record),
	})
	const url = await startApplication(page)
	const redirected = await fetch(url.slice(0, -1), { redirect: 'manual' })
	expect([redirected.status, redirected.headers.get('location')]).toEqual([302, './retries/'])

	const opened = await fetch(url)
	const html = await opened.text()
	const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';')
	const links = [...html.matchAll(/(?:src|href)="?(_yaoki\/[^"\s>]+)/g)].map(
		([, link = '']) => new URL(link, url).href,
	)
	expect(links).toEqual(expect.arrayContaining([`${url}_yaoki/app.js`, `${url}_yaoki/app.css`]))
	for (const link of links) {
		const response = await fetch(link)
		expect([link, response.status]).toEqual([link, 200])
		await response.arrayBuffer()
	}
	const overview = await (await fetch(`${url}_yaoki/api/overview`)).json()
	expect(overview).toMatchObject({ access: 'all', circuits: expect.any(Array) })

	const token = /<meta name="yaoki-token" content="([^"]+)/.exec(html)?.[1] ?? ''
	const { id: circuit } = overview.circuits[0] ?? { id: 'c1' }
	const headers = {
		'content-type': 'application/json',
		origin: new URL(url).origin,
		cookie,
		'x-yaoki-token': token,
	}
	const body = JSON.stringify({ action: 'isolate', source: 'payments', circuit })
	const acted = await fetch(`${url}_yaoki/api/action`, { method: 'POST', headers, body })
	expect([acted.status, await acted.json()]).toMatchObject([200, { job: null }])
	expect(actions).toMatchObject([{ by: 'ada', action: { action: 'isolate', circuit } }])
})
