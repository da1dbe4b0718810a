/** The built page in Chromium, with sample data and the content security policy of the dashboard. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { en as pageEn } from '../../../dashboard-page/words/words-en.ts'
import { ja as pageJa } from '../../../dashboard-page/words/words-ja.ts'
import { type Assets, buildDashboardPage } from '../../../scripts/dashboard-page.ts'
import { en } from '../../../src/dashboard/words/en.ts'
import { ja } from '../../../src/dashboard/words/ja.ts'
import { problemSentence } from '../../../src/dashboard/words/sentence.ts'
import { ENDPOINT_PATTERN } from '../../../src/webhooks/endpoint-names.ts'
import { isSkipped, launch } from '../../playground/browser.ts'
import { contrast } from '../../sim/charts/contrast.ts'
import { type ColorPair, TEXT_COLORS, UNNAMED } from './in-page.ts'
import { PROBLEMS, sampleCalls } from './sample.ts'
import { type SampleServer, startSampleServer } from './sample-server.ts'

const VIEWS = [
	'?',
	'?view=calls',
	'?view=messages',
	'?view=message&outbox=orders&id=01a1dfe5-0c2d-76f1-a4a3-bdf6c1f07191',
	'?view=dead',
	'?view=webhooks',
	'?view=audit',
]

/** The limits of playwright are shorter than those of a test. */
const PATIENCE_MS = 250_000

describe.skipIf(isSkipped)('the page in Chromium', () => {
	let assets: Assets
	let browser: Browser
	let server: SampleServer
	/** What the page has logged: also violations of the policy. */
	let logged: string[]
	beforeAll(async () => {
		;({ assets } = await buildDashboardPage())
		browser = await launch()
	})
	afterAll(async () => {
		await browser?.close()
	})
	beforeEach(async () => {
		server = await startSampleServer(assets)
		logged = []
	})
	afterEach(async () => {
		for (const context of browser.contexts()) await context.close()
		await server.close()
	})

	async function open(search: string, options: BrowserContextOptions = {}): Promise<Page> {
		const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', ...options })
		context.setDefaultTimeout(PATIENCE_MS)
		const page = await context.newPage()
		page.on('console', (message) => logged.push(message.text()))
		page.on('pageerror', (error) => logged.push(String(error)))
		page.on('dialog', (dialog) => {
			logged.push(dialog.message())
			void dialog.dismiss()
		})
		await page.goto(`${server.url}${search}`)
		await page.waitForSelector('main .card')
		return page
	}

	// Not with a function as text: the policy forbids to evaluate it again.
	const shows = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor()

	test('shows a sentence for each problem, and texts from outside as text', async () => {
		const page = await open('?')
		const problem = { ...PROBLEMS['calls-failing'], lastError: '<img src=x onerror=alert(1)>' }
		await shows(page, problemSentence(en, problem))
		expect(await page.locator('.summary li').count()).toBe(Object.keys(PROBLEMS).length)
		await page.waitForSelector('.plot canvas')
		expect(await page.locator('main img, main script').count()).toBe(0)
		expect(await page.title()).toBe(`(${Object.keys(PROBLEMS).length}) Yaoki`)
		expect(logged).toEqual([])
	})

	// The pattern is no destination: a replay of it would find nothing.
	test('dead letters of the endpoints of webhooks lead to all groups', async () => {
		const problem = { ...PROBLEMS['dead-letters'], destination: ENDPOINT_PATTERN }
		server.show((overview) => ({ ...overview, problems: [problem] }))
		const page = await open('?')
		await shows(page, problemSentence(en, problem))
		const row = page.locator('.summary li')
		expect(await row.getByRole('button').count()).toBe(0)
		const href = (await row.getByRole('link').getAttribute('href')) ?? ''
		expect(Object.fromEntries(new URL(href, page.url()).searchParams)).toEqual({
			view: 'dead',
			outbox: problem.source,
		})
	})

	test('says that nothing is wrong', async () => {
		server.show((overview) => ({ ...overview, problems: [] }))
		await shows(await open('?'), en.nothingWrong)
	})

	test('keeps the last figures while the server restarts, and says so', async () => {
		const page = await open('?')
		await page.waitForSelector('.connection.live')
		server.setDown(true)
		await page.waitForSelector('.connection.reconnecting')
		await shows(page, 'These are the figures of')
		expect(await page.locator('.content.old .card').count()).toBeGreaterThan(0)
		server.setDown(false)
		await page.waitForSelector('.connection.live')
		await page.waitForSelector('.content:not(.old)')
	})

	/** Opens the page with a clock of the test. */
	async function openWithClock(prepare: (page: Page) => Promise<unknown>): Promise<Page> {
		const context = await browser.newContext()
		context.setDefaultTimeout(PATIENCE_MS)
		const page = await context.newPage()
		await page.clock.install()
		await prepare(page)
		await page.goto(server.url)
		return page
	}

	test('asks for the overview while the stream does not work, and does not call its figures old', async () => {
		let streams = 0
		const page = await openWithClock((one) =>
			one.route('**/api/stream', (route) => {
				streams++
				return route.fulfill({ status: 503 })
			}),
		)
		await page.waitForSelector('.connection.polling')
		await page.waitForSelector('main .card')
		await page.evaluate(`
			seen = []
			new MutationObserver(() => seen.push(document.querySelector('.connection').className))
				.observe(document.querySelector('header'), { subtree: true, attributes: true, attributeFilter: ['class'] })
			undefined
		`)
		const before = streams
		await expect
			.poll(
				async () => {
					await page.clock.fastForward(6_000)
					return streams
				},
				{ timeout: PATIENCE_MS },
			)
			.toBeGreaterThan(before + 2)
		expect(await page.evaluate('seen')).toEqual([])
	})

	test('says that figures are old when the server stops to answer, without an error', async () => {
		const page = await openWithClock((one) => one.route('**/api/stream', () => undefined))
		await page.waitForSelector('.connection.polling')
		await page.route('**/api/overview', () => undefined)
		const asked = page.waitForRequest('**/api/overview')
		await page.clock.fastForward(4_000)
		await asked
		await page.clock.fastForward(11_000)
		await page.waitForSelector('.connection.reconnecting')
		await page.waitForSelector('.content.old')
	})

	test('failed calls stay while older ones are shown, until they are read again', async () => {
		let reads = 0
		let failed = 1
		const [call] = sampleCalls(0)
		const calls = Array.from({ length: 50 }, (_, index) => ({ ...call, number: 1_000 - index }))
		server.show((overview) => ({ ...overview, failedCalls: failed }))
		const page = await open('?view=calls')
		await page.route('**/api/calls*', (route) => {
			reads++
			const leftOut = { failures: 0, rejections: 0 }
			return route.fulfill({ json: { calls, leftOut, sources: [], reasons: [], hasMore: true } })
		})
		const isRead = (count: number) => expect.poll(() => reads, { timeout: PATIENCE_MS }).toBe(count)
		await page.getByRole('button', { name: 'Refresh' }).click()
		await isRead(1)
		await page.getByRole('button', { name: 'Show more' }).click()
		await isRead(2)
		await page.getByRole('button', { name: 'Refresh' }).click()
		await isRead(3)
		failed = 2
		await isRead(4)
	})

	test('closes the stream in a hidden tab, and opens it again', async () => {
		const page = await open('?')
		const hide = (isHidden: boolean): Promise<void> =>
			page.evaluate(`
				Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
				document.dispatchEvent(new Event('visibilitychange'))
				undefined
			`)
		await hide(true)
		await page.waitForSelector('.connection.hidden')
		await expect.poll(() => server.streams(), { timeout: PATIENCE_MS }).toBe(0)
		await hide(false)
		await page.waitForSelector('.connection.live')
		expect(server.streams()).toBe(1)
	})

	test('replays a group after its plan, with the token, and returns the focus', async () => {
		const page = await open('?view=dead')
		await page
			.locator('tbody tr')
			.first()
			.getByRole('button', { name: /^Replay/ })
			.click()
		await page.getByLabel('Reason').fill('the provider has recovered')
		await page.getByRole('button', { name: 'Replay 31 messages' }).click()
		await page.waitForSelector('dialog', { state: 'detached' })
		expect(server.actions).toEqual([
			{
				action: 'replay',
				source: 'orders',
				selection: { fingerprint: '6e625e2d8a50', cause: 'rejected', destination: 'email' },
				canary: true,
				reason: 'the provider has recovered',
			},
		])
		await shows(page, 'Replay: started.')
		expect(await page.evaluate('document.activeElement.textContent')).toBe('Replay')
	})

	test('a discard requires a reason', async () => {
		const page = await open('?view=dead')
		await page.getByRole('button', { name: /^Discard all/ }).click()
		const confirm = page.getByRole('button', { name: 'Discard 31 messages' })
		await confirm.waitFor()
		expect(await confirm.isDisabled()).toBe(true)
		await page.getByLabel('Reason').fill('test data')
		await confirm.click()
		await page.waitForSelector('dialog', { state: 'detached' })
		expect(server.actions).toMatchObject([
			{ action: 'discard', selection: { all: true }, reason: 'test data' },
		])
	})

	test('an action cannot be sent while the plan is that of other messages', async () => {
		const page = await open('?view=dead')
		await page.getByRole('button', { name: /^Replay since/ }).click()
		const time = page.getByLabel('From')
		await time.fill('2026-11-19T10:00:00')
		await page.getByRole('button', { name: 'Replay 31 messages' }).waitFor()
		// No response comes to this plan.
		await page.route('**/api/plan', () => undefined)
		await time.fill('2026-11-18T10:00:00')
		await page.getByRole('dialog').getByText('Counting…').waitFor()
		expect(await page.getByRole('dialog').locator('button[type=submit]').isDisabled()).toBe(true)
	})

	describe('a write whose token the server no longer accepts', () => {
		const openReset = async (): Promise<Page> => {
			const page = await open('?')
			await page
				.getByRole('button', { name: /^Reset/ })
				.first()
				.click()
			return page
		}
		const confirm = (page: Page): Promise<void> =>
			page.getByRole('dialog').locator('button[type=submit]:enabled').click()

		test('is sent once more, with the token of the page as the server has it now', async () => {
			const page = await openReset()
			server.setToken('renewed')
			await confirm(page)
			await page.waitForSelector('dialog', { state: 'detached' })
			expect(server.tokens).toEqual(['sample-token', 'renewed'])
			expect(server.actions).toHaveLength(1)
		})

		test('is not sent a third time, and the page says what to do', async () => {
			const page = await openReset()
			server.setToken('another', 'of no use')
			await confirm(page)
			await shows(page, pageEn.tokenRejected)
			expect(server.tokens).toEqual(['sample-token', 'of no use'])
			expect(server.actions).toEqual([])
		})

		test('is not repeated if the page to load is one to sign in', async () => {
			const page = await openReset()
			server.setToken('another')
			await page.route(
				({ pathname }) => server.url.endsWith(pathname),
				(route) => route.fulfill({ contentType: 'text/html', body: '<form>Sign in</form>' }),
			)
			await confirm(page)
			await shows(page, pageEn.tokenRejected)
			expect(server.tokens).toEqual(['sample-token'])
		})
	})

	test('a write that failed for another reason is not repeated', async () => {
		const page = await open('?')
		let sent = 0
		await page.route('**/api/action', (route) => {
			sent++
			return route.fulfill({ status: 403, json: { code: 'read-only', message: 'This access is read-only.' } })
		})
		await page
			.getByRole('button', { name: /^Reset/ })
			.first()
			.click()
		await page.getByRole('dialog').locator('button[type=submit]:enabled').click()
		await shows(page, 'This access is read-only.')
		expect(sent).toBe(1)
	})

	test('shows no action to a reader', async () => {
		server.show((overview) => ({ ...overview, access: 'read' }))
		const page = await open('?view=dead')
		await page.waitForSelector('tbody tr')
		expect(await page.getByRole('button', { name: /Replay|Discard/ }).count()).toBe(0)
		expect(await page.locator('input[type=checkbox]').count()).toBe(0)
	})

	// Discarded messages are in no list: the server rejects this status.
	test('offers the statuses that a search can have', async () => {
		const page = await open('?view=messages')
		const offered = page.getByLabel('Status').locator('option')
		expect(await offered.evaluateAll((options) => options.map((one) => Reflect.get(one, 'value')))).toEqual([
			'',
			'pending',
			'in-flight',
			'dead',
			'sent',
		])
	})

	test('the URL holds the search, and the back button returns to it', async () => {
		const page = await open('?view=messages&outbox=orders&status=dead')
		await page.locator('tbody a').first().click()
		await page.waitForSelector('.why')
		expect(new URL(page.url()).searchParams.get('view')).toBe('message')
		expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
		await page.goBack()
		await page.waitForSelector('form.search')
		expect(await page.getByLabel('Status').inputValue()).toBe('dead')
	})

	test('a scan continues until its end, and shows how many messages it has read', async () => {
		const page = await open('?view=messages')
		await page.getByText('Scan: reads').click()
		await page.getByLabel('Text in the error').fill('422')
		await page.keyboard.press('Enter')
		await shows(page, 'Read 30,000 messages, found 3.')
	})

	test('works with the keyboard', async () => {
		const page = await open('?')
		await page.keyboard.press('/')
		await page.locator('[data-search]:focus').waitFor()
		await page.keyboard.press('Escape')
		await page.waitForSelector('tbody tr')
		await page.keyboard.press('j')
		await page.keyboard.press('j')
		await page.keyboard.press('k')
		await page.keyboard.press('j')
		const second = await page.locator('tbody tr').nth(1).locator('a').first().textContent()
		await page.keyboard.press('Enter')
		await page.waitForSelector('.why')
		expect(await page.locator('h1 code').textContent()).toBe(second)
		await page.keyboard.press('?')
		await page.waitForSelector('dialog[open]')
		await page.keyboard.press('Escape')
		await page.waitForSelector('dialog', { state: 'detached' })
	})

	test('speaks the language of the browser, and the one that the reader chooses', async () => {
		const page = await open('?', { locale: 'ja-JP' })
		await shows(page, problemSentence(ja, PROBLEMS['circuit-open']))
		expect(await page.getAttribute('html', 'lang')).toBe('ja')
		await page.locator('header summary').click()
		await page.getByLabel('言語').selectOption('en')
		await shows(page, problemSentence(en, PROBLEMS['circuit-open']))
		await page.reload()
		await shows(page, problemSentence(en, PROBLEMS['circuit-open']))
	})

	describe('an exception while the page is rendered', () => {
		/** Times throw this. */
		const MESSAGE = '<img src=x onerror=alert(1)>'
		const THROWING = `Date.prototype.toISOString = () => { throw new Error('${MESSAGE}') }`

		test('in one view shows the error as text, and the other views work', async () => {
			const page = await open('?view=audit')
			const nav = page.getByRole('navigation')
			await nav.getByRole('link', { name: pageEn.views.dead }).click()
			await page.waitForSelector('tbody tr')
			await page.evaluate(`window.before = Date.prototype.toISOString; ${THROWING}`)
			await nav.getByRole('link', { name: pageEn.views.calls }).click()
			await shows(page, MESSAGE)
			await shows(page, pageEn.crashed)
			expect(await page.locator('main img').count()).toBe(0)

			await nav.getByRole('link', { name: pageEn.views.overview }).click()
			await page.waitForSelector('.summary li')
			await nav.getByRole('link', { name: pageEn.views.calls }).click()
			await shows(page, pageEn.crashed)
			await page.evaluate('Date.prototype.toISOString = window.before; undefined')
			await page.getByRole('button', { name: pageEn.tryAgain }).click()
			await page.waitForSelector('tbody time')
			expect(await page.getByText(pageEn.crashed).count()).toBe(0)
		})

		test('in its frame shows the error and a button that loads the page again', async () => {
			server.show((overview) => ({ ...overview, outboxes: null as never }))
			const context = await browser.newContext({ locale: 'ja-JP' })
			context.setDefaultTimeout(PATIENCE_MS)
			const page = await context.newPage()
			await page.goto(server.url)
			await shows(page, pageJa.crashed)
			server.show((overview) => overview)
			await page.getByRole('button', { name: pageJa.reload }).click()
			await page.waitForSelector('.summary li')
		})
	})

	describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
		test.each(VIEWS)('%s fits 390 px, and its texts have contrast and names', async (search) => {
			const page = await open(search, { colorScheme, viewport: { width: 390, height: 844 } })
			await page.waitForSelector('main :is(table, .tiles, .facts)')
			expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
			const pairs: ColorPair[] = await page.evaluate(TEXT_COLORS)
			const low = pairs.filter(({ color, background }) => contrast(toHex(color), toHex(background)) < 4.5)
			expect(low).toEqual([])
			expect(await page.evaluate(UNNAMED)).toEqual([])
			expect(logged).toEqual([])
		})
	})
})

const toHex = (channels: readonly number[]): string =>
	`#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`
