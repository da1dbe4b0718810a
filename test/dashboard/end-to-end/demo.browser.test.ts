/** The page in Chromium, on the demo of the package: what `npm start` shows. */
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { en } from '../../../dashboard-page/words/words-en.ts'
import { Spawned, urlAfter } from '../../cli/spawned.ts'
import { isSkipped, launch } from '../../playground/browser.ts'
import { open, row, shows, view } from './steps.ts'

/** The command of the installed package, or of the last build. */
const MAIN = process.env['YAOKI_MAIN'] ?? fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

describe.skipIf(isSkipped)('the page on the demo', () => {
	let browser: Browser
	let demo: Spawned
	let url: string
	let outage: string
	let logged: string[]
	beforeAll(async () => {
		browser = await launch()
	})
	afterAll(async () => {
		await browser?.close()
	})
	beforeEach(async () => {
		logged = []
		demo = new Spawned(MAIN, ['demo', '--seconds', '3600'])
		await demo.prints('end it: curl -X DELETE')
		url = urlAfter('until the end of the demo: ', demo.stderr)
		outage = urlAfter('curl -X PUT ', demo.stderr)
	})
	afterEach(async () => {
		for (const context of browser.contexts()) await context.close()
		// It deletes its folder.
		demo.process.kill('SIGTERM')
		await demo.ended()
	})

	test('an outage opens the circuits and explains calls, and the recovery closes them', async () => {
		const page = await open(browser, url, logged)
		await row(page, en.circuits, 'stock').getByText('closed', { exact: true }).waitFor()

		await fetch(outage, { method: 'PUT' })
		await shows(page, /^stock: circuit open.*last error/)
		await row(page, en.circuits, 'stock').getByText('open', { exact: true }).waitFor()
		const destination = row(page, en.destinations, 'orders')
		await destination.getByText(en.words.pauses.circuit, { exact: true }).waitFor()
		expect(await destination.getByText('circuit-open').count()).toBe(0)
		await shows(page, /^outbox: destination orders: circuit open/)

		await page.getByRole('link', { name: en.showCalls }).first().click()
		await row(page, en.views.calls, 'circuit-open').first().waitFor()
		await page.getByLabel(en.reason).selectOption('retries-exhausted')
		await row(page, en.views.calls, 'retries-exhausted').first().locator('summary').click()
		// New calls are added above it.
		await page
			.locator('details[open] pre')
			.getByText(/stock: \d attempts/)
			.waitFor()

		await fetch(outage, { method: 'DELETE' })
		await view(page, en.views.overview)
		await row(page, en.circuits, 'stock').getByText('closed', { exact: true }).waitFor()
		await destination.getByText(en.words.pauses.circuit, { exact: true }).waitFor({ state: 'detached' })
		await page
			.getByText(/^(stock|outbox: destination orders): circuit/)
			.first()
			.waitFor({ state: 'detached' })
		expect(logged).toEqual([])
	})

	test('a dead letter is explained, replayed with its plan, and delivered', async () => {
		const page = await open(browser, url, logged)
		await shows(page, 'outbox: 3 dead letters to orders')

		await page.getByRole('link', { name: en.showDead }).click()
		const group = row(page, en.views.dead, 'HTTP 422')
		await group.getByText('3', { exact: true }).waitFor()
		await group.getByRole('link', { name: en.example }).click()
		const timeline = page.getByRole('table', { name: en.timeline })
		await timeline.getByText('retry (HTTP 500)').waitFor()
		await timeline.getByText('dead (HTTP 422)').waitFor()
		await shows(page, '"unknown address"')
		const id = await page.locator('h1 code').textContent()

		await page.goBack()
		await group.getByRole('button', { name: en.buttons.replay }).click()
		const dialog = page.getByRole('dialog')
		await dialog.getByText('3 messages would change.').waitFor()
		await dialog.getByText(/yaoki outbox replay .*--canary/).waitFor()
		await dialog.getByLabel(en.reason).fill('the address is known now')
		await dialog.getByRole('button', { name: 'Replay 3 messages' }).click()
		await shows(page, en.noDead)
		await page.getByText(en.words.jobStates.done, { exact: true }).waitFor()

		await page.goto(`${url}?view=message&outbox=outbox&id=${id}`)
		await page.locator('.why').getByText(en.words.statuses.sent, { exact: true }).waitFor()
		await timeline.getByText(/^sent \(HTTP 20[01]\)$/).waitFor()
		await view(page, en.views.audit)
		await row(page, en.audit, 'replay').getByText('the address is known now').first().waitFor()
		expect(logged).toEqual([])

		demo.process.kill('SIGTERM')
		const { code, stdout } = await demo.ended()
		expect([code, stdout]).toEqual([0, expect.stringContaining('The ledger balances')])
	})
})
