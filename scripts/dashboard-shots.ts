/**
 * `node scripts/dashboard-shots.ts`: saves screenshots of the dashboard of a failing program to docs/guide/images/. Look at each
 * of them before it is committed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { startProgram } from '../test/dashboard/end-to-end/program.ts'
import { writeDashboardPage } from './dashboard-page.ts'
import { CHROMIUM, FLAGS } from './runtimes/chromium.ts'
import { shrinkPng } from './shrink-png.ts'
import { ROOT } from './tools.ts'

const FOLDER = join(ROOT, 'docs', 'guide', 'images')
const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } }

mkdirSync(FOLDER, { recursive: true })
await writeDashboardPage(join(ROOT, 'dist'))
const program = await startProgram()
const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS] })
try {
	for (const number of [1, 2, 3]) program.receiver.statuses.set(`order-of-sato-${number}`, [503, 422])
	const ids = await Promise.all([1, 2, 3].map((number) => program.enqueue(`order-of-sato-${number}`)))
	const first = await browser.newPage()
	await first.goto(program.url)
	await first.getByText('outbox: 3 dead letters to receipts').first().waitFor()
	program.receiver.isFailing = true
	await first
		.getByText(/^outbox: destination receipts: circuit open/)
		.first()
		.waitFor()
	await first
		.getByText(/^payments: circuit open/)
		.first()
		.waitFor()
	const views = { overview: '', message: `?view=message&id=${ids[0]}`, dead: '?view=dead' }
	for (const [view, search] of Object.entries(views))
		for (const colorScheme of ['light', 'dark'] as const)
			for (const [size, viewport] of Object.entries(SIZES)) {
				const context = await browser.newContext({
					colorScheme,
					viewport,
					locale: 'en-US',
					timezoneId: 'UTC',
					reducedMotion: 'reduce',
				})
				const page = await context.newPage()
				await page.goto(`${program.url}${search}`)
				await page.waitForSelector('main :is(table, .facts)')
				const path = join(FOLDER, `dashboard-${view}-${colorScheme}-${size}.png`)
				// A machine without Japanese fonts would show boxes.
				await page.evaluate("document.querySelector('.reading').remove()")
				writeFileSync(path, shrinkPng(await page.screenshot()))
				await context.close()
			}
} finally {
	await browser.close()
	await program.close()
}
