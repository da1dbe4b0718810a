/** The playground in Chromium. */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { CHROMIUM, FLAGS } from '../../scripts/runtimes/chromium.ts'

/** Without a browser the tests are skipped, but not in CI. */
export const isSkipped: boolean = !existsSync(CHROMIUM) && process.env['CI'] !== 'true'

/** The limits of playwright are shorter than those of a test, and too short for a busy machine. */
const PATIENCE_MS = 250_000

export const launch = (): Promise<Browser> =>
	chromium.launch({
		executablePath: CHROMIUM,
		args: [...FLAGS, '--disable-dev-shm-usage'],
		timeout: PATIENCE_MS,
	})

/** An open page with its console output and its requests. */
export interface Opened {
	readonly page: Page
	/** Errors and console messages. */
	readonly messages: readonly string[]
	readonly requests: readonly string[]
}

/** Opens the page and waits for the end of its first run. Animation is off by default. */
export async function open(
	browser: Browser,
	file: string,
	hash = '',
	options: BrowserContextOptions = {},
): Promise<Opened> {
	const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', ...options })
	context.setDefaultTimeout(PATIENCE_MS)
	const page = await context.newPage()
	const [messages, requests]: [string[], string[]] = [[], []]
	page.on('console', (message) => messages.push(message.text()))
	page.on('pageerror', (error) => messages.push(String(error)))
	page.on('request', (request) => requests.push(request.url()))
	const opened = done(page)
	await page.goto(`${pathToFileURL(file).href}${hash && `#${hash}`}`)
	await opened
	return { page, messages, requests }
}

/** Waits for the end of the run. Rejects immediately if the page throws. */
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

/** Returns the trace hash that the page shows. */
export const traceHash = async (page: Page): Promise<string> =>
	/[0-9a-f]{16}/.exec(await textOf(page, '#trace'))?.[0] ?? ''

/** Returns the hash of the URL without `#`. */
export const hashOf = (page: Page): string => new URL(page.url()).hash.slice(1)
