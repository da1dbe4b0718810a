/** The page in Chromium, and what a test wants to know of it. */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { CHROMIUM, FLAGS } from '../../scripts/runtimes/chromium.ts'

/** Where nobody has a browser, its tests are skipped; where all is tested, that is a failure. */
export const isSkipped: boolean = !existsSync(CHROMIUM) && process.env['CI'] !== 'true'

export const launch = (): Promise<Browser> =>
	chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, '--disable-dev-shm-usage'] })

/** A page that is open, and all that it said or asked for. */
export interface Opened {
	readonly page: Page
	/** Errors, and whatever was written to the console. */
	readonly said: readonly string[]
	readonly asked: readonly string[]
}

/** Opens the page and waits for its first run. Runs are not shown as they happen unless that is what a test is about. */
export async function open(
	browser: Browser,
	file: string,
	hash = '',
	options: BrowserContextOptions = {},
): Promise<Opened> {
	const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', ...options })
	const page = await context.newPage()
	const [said, asked]: [string[], string[]] = [[], []]
	page.on('console', (message) => said.push(message.text()))
	page.on('pageerror', (error) => said.push(String(error)))
	page.on('request', (request) => asked.push(request.url()))
	const opened = done(page)
	await page.goto(`${pathToFileURL(file).href}${hash && `#${hash}`}`)
	await opened
	return { page, said, asked }
}

/** Waits for the run to be over. A page that fails says so at once, and is not waited for. */
export async function done(page: Page): Promise<void> {
	const wait = new AbortController()
	const failed = new Promise<never>((_, reject) => {
		page.once('pageerror', reject)
		wait.signal.addEventListener('abort', () => page.off('pageerror', reject))
	})
	try {
		await Promise.race([page.waitForSelector('main[data-state=done]'), failed])
	} finally {
		wait.abort()
	}
}

export const textOf = async (page: Page, selector: string): Promise<string> =>
	(await page.textContent(selector)) ?? ''

/** The fingerprint of the run that is shown. */
export const traceHash = async (page: Page): Promise<string> =>
	/[0-9a-f]{16}/.exec(await textOf(page, '#trace'))?.[0] ?? ''

/** What the address says after its #. */
export const hashOf = (page: Page): string => new URL(page.url()).hash.slice(1)
