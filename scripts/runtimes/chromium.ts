/** The suite in a page of Chromium: the package unbundled, found through an import map made of its `exports`. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Outcome, Runtime, Site } from './runtime.ts'

/** Debian's. A browser that playwright brings along would be a download of its own. */
export const CHROMIUM = '/usr/bin/chromium'
export const FLAGS: readonly string[] = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']

export const inChromium: Runtime = {
	name: 'Chromium',
	async run(site) {
		if (!existsSync(CHROMIUM)) return undefined
		const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS] })
		try {
			return { version: browser.version(), ...(await runInPage(browser, site)) }
		} finally {
			await browser.close()
		}
	},
}

async function runInPage(browser: Browser, { home, entries, urls }: Site): Promise<Outcome> {
	const imports = Object.fromEntries(
		[...entries].map(([name, file]) => [name, join('/node_modules/yaoki', file)]),
	)
	const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`
	writeFileSync(join(home, 'page.html'), `<!doctype html><title>yaoki</title>${map}`)
	const page = await browser.newPage()
	await page.goto(`${urls.faultyUrl}/page.html`)
	// As text, for the file is one of the page's and not of this project's.
	return page.evaluate(`import('/suite.js').then(({ runSuite }) => runSuite(${JSON.stringify(urls)}))`)
}
