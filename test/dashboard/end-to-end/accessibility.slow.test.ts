/** What axe-core finds on each view of a program that fails, in each color scheme and language. */
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isSkipped, launch } from '../../playground/browser.ts'
import { type Program, startProgram } from './program.ts'

vi.mock('../../../src/dashboard/server/page-data.ts', async () => {
	const { buildDashboardPage } = await import('../../../scripts/dashboard-page.ts')
	return { PAGE: (await buildDashboardPage()).assets }
})

const PATIENCE_MS = 250_000
const AXE = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Returns serious and critical violations, each with the elements that have it. */
const FIND = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
	.filter(({ impact }) => impact === 'serious' || impact === 'critical')
	.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html) })))`

describe.skipIf(isSkipped)('axe-core', () => {
	let browser: Browser
	let program: Program
	let id: string
	beforeAll(async () => {
		program = await startProgram()
		program.receiver.statuses.set('order-of-sato', [503, 422])
		id = await program.enqueue('order-of-sato')
		browser = await launch()
		const page = await browser.newPage()
		await page.goto(program.url)
		await page.getByText('outbox: 1 dead letter to receipts').first().waitFor({ timeout: PATIENCE_MS })
		program.receiver.isFailing = true
		await page
			.getByText(/^payments: circuit open/)
			.first()
			.waitFor({ timeout: PATIENCE_MS })
		await page.close()
	})
	afterAll(async () => {
		await browser?.close()
		await program?.close()
	})

	describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
		test.each(['en-US', 'ja-JP'])('%s: finds no serious violation in any view', async (locale) => {
			const context = await browser.newContext({ reducedMotion: 'reduce', locale, colorScheme })
			context.setDefaultTimeout(PATIENCE_MS)
			const page = await context.newPage()
			const searches = [
				'',
				'?view=calls',
				'?view=messages',
				`?view=message&id=${id}`,
				'?view=dead',
				'?view=audit',
			]
			for (const search of searches) {
				await page.goto(`${program.url}${search}`)
				await page.waitForSelector(search === '?view=audit' ? 'main .empty' : 'main :is(table, .facts)')
				await page.evaluate(`${AXE}; undefined`)
				expect({ search, found: await page.evaluate(FIND) }).toEqual({ search, found: [] })
			}
			await context.close()
		})
	})
})
