/**
 * What axe-core finds in each view of a program that fails, in each color scheme, size and language. `SHOTS=docs/guide/images` keeps
 * the screenshots. Look at each of them before it is committed.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { shrinkPng } from '../../../scripts/shrink-png.ts'
import { isSkipped, launch } from '../../playground/browser.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { type Program, startProgram } from './program.ts'
import { open, PATIENCE_MS } from './steps.ts'

vi.mock('../../../src/dashboard/server/page-data.ts', async () => {
	const { buildDashboardPage } = await import('../../../scripts/dashboard-page.ts')
	return { PAGE: (await buildDashboardPage()).assets }
})

const AXE = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Returns serious and critical violations, each with the elements that have it. */
const FIND = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
	.filter(({ impact }) => impact === 'serious' || impact === 'critical')
	.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html) })))`

const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } } as const
const ORDERS = ['order-of-sato-1', 'order-of-sato-2', 'order-of-sato-3']

describe.skipIf(isSkipped)('each view', () => {
	let browser: Browser
	let program: Program
	let views: Readonly<Record<string, string>>
	beforeAll(async () => {
		program = await startProgram()
		const { receiver } = program
		for (const order of ORDERS) receiver.statuses.set(order, [503, 422])
		const ids = await Promise.all(ORDERS.map((order) => program.enqueue(order)))
		receiver.failingHooks.add('/broken')
		for (const path of ['/broken', '/shop']) await program.createEndpoint(path)
		await program.publish()
		browser = await launch()
		const page = await browser.newPage()
		await page.goto(program.url)
		const shows = (text: string | RegExp) => page.getByText(text).first().waitFor({ timeout: PATIENCE_MS })
		await shows('outbox: 3 dead letters to receipts')
		await shows('webhooks: 1 endpoint failing')
		receiver.isFailing = true
		await shows(/^outbox: destination receipts: circuit open/)
		await shows(/^payments: circuit open/)
		await page.close()
		views = {
			overview: '',
			calls: '?view=calls',
			messages: '?view=messages',
			message: `?view=message&id=${ids[0]}`,
			dead: '?view=dead',
			webhooks: '?view=webhooks',
			audit: '?view=audit',
		}
	})
	afterAll(async () => {
		await browser?.close()
		await program?.close()
	})

	describe.each(['en-US', 'ja-JP'] as const)('%s', (locale) => {
		test.each(['light', 'dark'] as const)(
			'%s: has no serious violation, wide and narrow',
			async (colorScheme) => {
				const folder = process.env['SHOTS'] ?? temporaryFolder()
				mkdirSync(folder, { recursive: true })
				const page = await open(browser, program.url, [], { locale, colorScheme, timezoneId: 'UTC' })
				for (const [view, search] of Object.entries(views)) {
					await page.goto(`${program.url}${search}`)
					await page.waitForSelector('main :is(table, .facts)')
					await page.evaluate(`${AXE}; undefined`)
					for (const [size, viewport] of Object.entries(SIZES)) {
						await page.setViewportSize(viewport)
						expect({ view, size, found: await page.evaluate(FIND) }).toEqual({ view, size, found: [] })
						// A machine without Japanese fonts would show boxes.
						if (locale !== 'en-US') continue
						await page.evaluate("document.querySelector('.reading')?.remove()")
						const file = join(folder, `dashboard-${view}-${colorScheme}-${size}.png`)
						writeFileSync(file, shrinkPng(await page.screenshot()))
					}
				}
			},
		)
	})
})
