/** Runs the suite in a page of Chromium: the package is not bundled, and an import map replaces its `exports`. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Outcome, Runtime, Site } from './runtime.ts'

/** Debian's browser. The one of playwright would be another download. */
export const CHROMIUM = '/usr/bin/chromium'
export const FLAGS: readonly string[] = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']

export const inChromium: Runtime = {
	name: 'Chromium',
	missing: 'chromium is not installed (apt-get install chromium)',
	async run(site) {
		if (!existsSync(CHROMIUM)) return undefined
		const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS], timeout: 120_000 })
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
	page.setDefaultTimeout(120_000)
	await page.goto(`${urls.faultyUrl}/page.html`)
	await page.exposeFunction('setOffline', (isOffline: boolean) => page.context().setOffline(isOffline))
	// As text, because the file belongs to the page and not to this project.
	return page.evaluate(
		`import('/suite.js').then(({ runSuite }) => runSuite({ ...${JSON.stringify(urls)}, setOffline }))`,
	)
}
