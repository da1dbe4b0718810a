/** The page in Chromium, on a program whose dependency fails and recovers. Every step waits for what the page shows. */
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { en } from '../../../dashboard-page/words/words-en.ts'
import { isSkipped, launch } from '../../playground/browser.ts'
import { ACCESS_HEADER, type Program, startProgram, USER_HEADER } from './program.ts'

// The page is built from its sources, without dist/, which another test may be writing.
vi.mock('../../../src/dashboard/server/page-data.ts', async () => {
	const { buildDashboardPage } = await import('../../../scripts/dashboard-page.ts')
	return { PAGE: (await buildDashboardPage()).assets }
})

/** How `explain` begins for a call that failed twice. */
const EXPLANATION = /payments: 2 attempts/

/** The limits of playwright are shorter than those of a test. */
const PATIENCE_MS = 250_000

describe.skipIf(isSkipped)('the page on a program', () => {
	let browser: Browser
	let program: Program
	/** What the page has logged: also violations of the policy. */
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

	async function open(search = '', headers: Readonly<Record<string, string>> = {}): Promise<Page> {
		const context = await browser.newContext({
			reducedMotion: 'reduce',
			locale: 'en-US',
			extraHTTPHeaders: { [USER_HEADER]: 'mika', ...headers },
		})
		context.setDefaultTimeout(PATIENCE_MS)
		const page = await context.newPage()
		page.on('console', (message) => logged.push(message.text()))
		page.on('pageerror', (error) => logged.push(String(error)))
		await page.goto(`${program.url}${search}`)
		await page.waitForSelector('main .card')
		return page
	}

	const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()
	const view = (page: Page, name: string): Promise<void> =>
		page.getByRole('navigation').getByRole('link', { name }).click()
	const row = (page: Page, table: string, name: string): Locator =>
		page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name })

	/** Presses a button, and confirms its dialog. */
	async function act(page: Page, at: Locator, button: string, reason: string): Promise<void> {
		await at.getByRole('button', { name: button }).first().click()
		const dialog = page.getByRole('dialog')
		await dialog.getByLabel(en.reason).fill(reason)
		await dialog.locator('button[type=submit]:enabled').click()
		await dialog.waitFor({ state: 'detached' })
	}

	test('an outage opens the circuit and explains calls, and the recovery closes it', async () => {
		const page = await open()
		await shows(page, en.words.nothingWrong)

		program.receiver.isFailing = true
		await shows(page, /^payments: circuit open.*last error HttpError: HTTP 503/)
		await row(page, en.circuits, 'payments').getByText('open', { exact: true }).waitFor()
		const destination = row(page, en.destinations, 'receipts')
		await destination.getByText(en.words.pauses.circuit, { exact: true }).waitFor()
		expect(await destination.getByText('circuit-open').count()).toBe(0)
		await shows(page, /^outbox: destination receipts: circuit open/)

		await page.getByRole('link', { name: en.showCalls }).first().click()
		await row(page, en.views.calls, 'circuit-open').first().waitFor()
		await page.getByLabel(en.reason).selectOption('retries-exhausted')
		await row(page, en.views.calls, 'retries-exhausted').first().locator('summary').click()
		// New calls are added above it.
		await page.locator('details[open] pre').getByText(EXPLANATION).waitFor()

		program.receiver.isFailing = false
		await view(page, en.views.overview)
		await row(page, en.circuits, 'payments').getByText('closed', { exact: true }).waitFor()
		await shows(page, en.words.nothingWrong)
		expect(logged).toEqual([])
	})

	test('a dead letter is explained, replayed with its plan, and delivered', async () => {
		const order = 'order-of-sato'
		program.receiver.statuses.set(order, [503, 422])
		const id = await program.enqueue(order)
		const page = await open()
		await shows(page, 'outbox: 1 dead letter to receipts')

		await page.getByRole('link', { name: en.showDead }).click()
		const group = row(page, en.views.dead, 'HTTP 422')
		await group.getByText('1', { exact: true }).waitFor()
		await group.getByRole('link', { name: en.example }).click()
		const timeline = page.getByRole('table', { name: en.timeline })
		await timeline.getByText('retry (HTTP 503)').waitFor()
		await timeline.getByText('dead (HTTP 422)').waitFor()
		expect(await page.locator('h1 code').textContent()).toBe(id)
		// Payloads are text.
		await shows(page, '<b>gift</b>')

		await page.goBack()
		await group.getByRole('button', { name: en.buttons.replay }).click()
		const dialog = page.getByRole('dialog')
		await dialog.getByText('1 message would change.').waitFor()
		await dialog.getByText(/yaoki outbox replay .*--canary/).waitFor()
		await dialog.getByLabel(en.reason).fill('the address is known now')
		await dialog.getByRole('button', { name: 'Replay 1 message' }).click()
		await shows(page, en.noDead)
		await page.getByText(en.words.jobStates.done, { exact: true }).waitFor()

		await page.goto(`${program.url}?view=message&outbox=outbox&id=${id}`)
		await page.locator('.why').getByText(en.words.statuses.sent, { exact: true }).waitFor()
		await timeline.getByText('sent (HTTP 200)').waitFor()
		expect(program.receiver.accepted).toContain(order)
		await view(page, en.views.audit)
		const record = row(page, en.audit, 'replay')
		await record.getByText('mika').waitFor()
		await record.getByText('the address is known now').waitFor()
		expect(logged).toEqual([])
	})

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

	test('a reader sees no action', async () => {
		program.receiver.statuses.set('order-of-sato', [422])
		const id = await program.enqueue('order-of-sato')
		const page = await open('', { [ACCESS_HEADER]: 'read' })
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
