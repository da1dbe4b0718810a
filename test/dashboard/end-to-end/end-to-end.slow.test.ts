/** The page in Chromium: what the demo cannot show, on a program of its own. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { en } from '../../../dashboard-page/words/words-en.ts'
import { isSkipped, launch } from '../../playground/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { ACCESS_HEADER, type Program, startProgram, USER_HEADER } from './program.ts'
import { act, open as openPage, row, shows, view } from './steps.ts'

// The page is built from its sources, without dist/, which another test may be writing.
vi.mock('../../../src/dashboard/server/page-data.ts', async () => {
	const { buildDashboardPage } = await import('../../../scripts/dashboard-page.ts')
	return { PAGE: (await buildDashboardPage()).assets }
})

/** What a hostile customer may enter: markup, a terminal's escape code, and a character that changes the writing direction. */
const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>\u001b[2J\u0007\u202e'

describe.skipIf(isSkipped)('the page on a program', () => {
	let browser: Browser
	let program: Program
	let logged: string[]
	beforeAll(async () => {
		browser = await launch()
	})
	afterAll(async () => {
		await browser?.close()
	})
	beforeEach(async () => {
		program = await startProgram()
		logged = []
	})
	afterEach(async () => {
		for (const context of browser.contexts()) await context.close()
		await program.close()
	})

	const open = (headers: Readonly<Record<string, string>> = {}): Promise<Page> =>
		openPage(browser, program.url, logged, { extraHTTPHeaders: { [USER_HEADER]: 'mika', ...headers } })

	test('a circuit is isolated and released, and a destination paused and resumed', async () => {
		const page = await open()
		await shows(page, en.words.nothingWrong)
		const circuit = row(page, en.circuits, 'payments')
		await act(page, circuit, en.buttons.isolate, 'a test')
		await shows(page, /^payments: circuit isolated/)
		await act(page, circuit, en.buttons.release, 'the test is over')
		await circuit.getByText('closed', { exact: true }).waitFor()

		const destination = row(page, en.destinations, 'receipts')
		await act(page, destination, en.buttons.pause, 'maintenance tonight')
		await shows(page, /^outbox: destination receipts paused by mika.*\(maintenance tonight\)/)
		await act(page, destination, en.buttons.resume, 'it is over')
		await shows(page, en.words.nothingWrong)

		await view(page, en.views.audit)
		await row(page, en.audit, 'maintenance tonight').getByText('pause', { exact: true }).waitFor()
		await row(page, en.audit, 'it is over').getByText('resume', { exact: true }).waitFor()
		expect(logged).toEqual([])
	})

	test('endpoints of webhooks fail, are disabled, enabled and tested, and get their messages again', async () => {
		const { receiver } = program
		receiver.failingHooks.add('/broken')
		for (const path of ['/broken', '/shop']) await program.createEndpoint(path)
		await program.publish()
		const page = await open()
		await shows(page, 'webhooks: 1 endpoint failing')
		await view(page, en.views.webhooks)
		const broken = row(page, en.views.webhooks, '/broken')
		const shop = row(page, en.views.webhooks, '/shop')
		await broken.getByText(en.failing, { exact: true }).waitFor()
		await shop.getByText(en.enabled, { exact: true }).waitFor()

		await broken.getByRole('link').first().click()
		await page.locator('tbody a').first().click()
		const timeline = page.getByRole('table', { name: en.timeline })
		await timeline.getByText('retry (HTTP 500)').first().waitFor()

		await view(page, en.views.webhooks)
		await act(page, broken, en.buttons['disable-endpoint'], 'the customer asked')
		await broken.getByText(en.disabled, { exact: true }).waitFor()
		expect(await broken.getByRole('button', { name: en.buttons['disable-endpoint'] }).count()).toBe(0)

		receiver.failingHooks.clear()
		await act(page, broken, en.buttons['enable-endpoint'], 'it is repaired')
		await act(page, broken, en.buttons['test-endpoint'], 'does it respond?')
		await broken.getByText(en.enabled, { exact: true }).waitFor()
		const received = (hook: string) => receiver.hooks.filter((one) => one === hook).length
		// A success releases what waits for a retry.
		await eventually(() => {
			expect(received('/broken webhook.test')).toBe(1)
			expect(received('/broken order.paid')).toBe(1)
			expect(received('/shop order.paid')).toBe(1)
		})
		await act(page, shop, en.buttons['resend-endpoint'], 'they restored a backup', '2026-01-01T00:00')
		await eventually(() => expect(received('/shop order.paid')).toBe(2))

		await view(page, en.views.audit)
		await row(page, en.audit, 'the customer asked').getByText('disable-endpoint', { exact: true }).waitFor()
		await row(page, en.audit, 'it is repaired').getByText('enable-endpoint', { exact: true }).waitFor()
		expect(logged).toEqual([])
	})

	test('what a hostile sender has written is text in every view', async () => {
		program.receiver.statuses.set(HOSTILE, [422])
		const id = await program.enqueue(HOSTILE)
		const page = await open()
		page.on('dialog', (dialog) => {
			logged.push(dialog.message())
			void dialog.dismiss()
		})
		await shows(page, 'outbox: 1 dead letter to receipts')
		const key = encodeURIComponent(HOSTILE)
		for (const search of [`?view=message&id=${id}`, `?view=messages&key=${key}`, '?view=dead']) {
			await page.goto(`${program.url}${search}`)
			// The response of the receiver and the payload have it too.
			await page.locator('main').getByText('onerror=alert(1)').first().waitFor()
			const unsafe = /[\p{Cc}\u202e]/u.exec(
				(await page.locator('body').innerText()).replaceAll(/[\n\t]/g, ''),
			)
			expect([search, unsafe, await page.locator('main :is(img, script)').count()]).toEqual([search, null, 0])
		}
		expect(logged).toEqual([])
	})

	test('a reader sees no action', async () => {
		program.receiver.statuses.set('order-of-sato', [422])
		const id = await program.enqueue('order-of-sato')
		const page = await open({ [ACCESS_HEADER]: 'read' })
		await shows(page, 'outbox: 1 dead letter to receipts')
		await shows(page, en.readOnly)
		const actions = page.locator('main').getByRole('button', {
			name: new RegExp(`^(${Object.values(en.buttons).join('|')}|${en.replayAll}|${en.discardAll})`),
		})
		const boxes = page.locator('main input[type=checkbox]')
		for (const search of ['', '?view=dead', '?view=messages&status=dead', `?view=message&id=${id}`]) {
			await page.goto(`${program.url}${search}`)
			await page
				.locator('main')
				.getByText(search === '' ? en.readOnly : /HTTP 422/)
				.first()
				.waitFor()
			expect([search, await actions.count(), await boxes.count()]).toEqual([search, 0, 0])
		}
	})

	test('says that it reconnects while the server restarts, and goes on with the new one', async () => {
		const page = await open()
		await page.waitForSelector('.connection.live')
		await program.stopServer()
		await shows(page, en.connectionHelp.reconnecting)
		await shows(page, 'These are the figures of')
		await program.startServer()
		await page.waitForSelector('.connection.live')
		await page.getByText(en.connectionHelp.reconnecting).waitFor({ state: 'detached' })

		// The token of the page is still valid.
		const destination = row(page, en.destinations, 'receipts')
		await act(page, destination, en.buttons.pause, 'after the restart')
		await shows(page, /^outbox: destination receipts paused by mika/)
	})

	test('a page whose cookie has expired renews its token, and acts once', async () => {
		const page = await open()
		const destination = row(page, en.destinations, 'receipts')
		await destination.getByRole('button', { name: en.buttons.pause }).waitFor()
		await page.context().clearCookies()
		await act(page, destination, en.buttons.pause, 'after a week')
		await shows(page, /^outbox: destination receipts paused by mika/)
		await view(page, en.views.audit)
		await row(page, en.audit, 'after a week').waitFor()
		expect(await row(page, en.audit, 'after a week').count()).toBe(1)
	})
})
