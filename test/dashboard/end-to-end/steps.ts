/** What an operator does on the page. Every step waits for what the page shows. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { en } from '../../../dashboard-page/words/words-en.ts'

/** The limits of playwright are shorter than those of a test. */
export const PATIENCE_MS = 250_000

/** Opens the page. `logged` receives what it logs: also violations of the policy. */
export async function open(
	browser: Browser,
	url: string,
	logged: string[],
	options: BrowserContextOptions = {},
): Promise<Page> {
	const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', ...options })
	context.setDefaultTimeout(PATIENCE_MS)
	const page = await context.newPage()
	page.on('console', (message) => logged.push(message.text()))
	page.on('pageerror', (error) => logged.push(String(error)))
	await page.goto(url)
	await page.waitForSelector('main .card')
	return page
}

export const shows = (page: Page, text: string | RegExp): Promise<void> =>
	page.getByText(text).first().waitFor()

export const view = (page: Page, name: string): Promise<void> =>
	page.getByRole('navigation').getByRole('link', { name }).click()

export const row = (page: Page, table: string, name: string): Locator =>
	page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name })

/** Presses a button, and confirms its dialog. */
export async function act(
	page: Page,
	at: Locator,
	button: string,
	reason: string,
	from?: string,
): Promise<void> {
	await at.getByRole('button', { name: button }).first().click()
	const dialog = page.getByRole('dialog')
	if (from !== undefined) await dialog.getByLabel(en.from).fill(from)
	await dialog.getByLabel(en.reason).fill(reason)
	await dialog.locator('button[type=submit]:enabled').click()
	await dialog.waitFor({ state: 'detached' })
}
