/** The built page, opened from a file in a real browser. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { FIGURES, type FigureName, formatValue, readFigure, unitOf } from '../../playground/figures.ts'
import { fromHash } from '../../playground/link.ts'
import { getPreset, type PresetName } from '../../playground/presets.ts'
import { layersOf, scenarioFile, scenarioOf } from '../../playground/scenario.ts'
import { changeSettings, INITIAL, type Settings } from '../../playground/settings.ts'
import { en } from '../../playground/words-en.ts'
import { ja } from '../../playground/words-ja.ts'
import { buildPlayground } from '../../scripts/playground.ts'
import { ROOT } from '../../scripts/tools.ts'
import { policyToTypeScript } from '../../src/sim/scenario/source.ts'
import { contrast } from '../sim/charts/contrast.ts'
import { done, hashOf, isSkipped, launch, type Opened, open, textOf, traceHash } from './browser.ts'

describe.skipIf(isSkipped)('the playground in Chromium', () => {
	let browser: Browser
	let file = ''
	let bytes = 0
	// Inside the repository, so that the printed scenario can import `yaoki`; ignored by git.
	mkdirSync(join(ROOT, '.cache'), { recursive: true })
	const folder = mkdtempSync(join(ROOT, '.cache', 'playground-'))

	beforeAll(async () => {
		;({ file, bytes } = await buildPlayground(folder))
		browser = await launch()
	})
	afterAll(async () => {
		await browser?.close()
		rmSync(folder, { recursive: true, force: true })
	})

	/** A cheap run, for tests of the page. */
	const LIGHT = 'workers=1&load=0.1'

	/** Opens the page for a test. Afterwards checks that it logged nothing and requested nothing but itself. */
	async function visit(
		test: (opened: Opened) => Promise<void>,
		hash?: string,
		options?: Parameters<typeof open>[3],
	): Promise<void> {
		const opened = await open(browser, file, hash, options)
		try {
			await test(opened)
			expect(opened.messages).toEqual([])
			expect(opened.requests).toHaveLength(1)
		} finally {
			await opened.page.context().close()
		}
	}

	const choose = async ({ page }: Opened, name: PresetName): Promise<void> => {
		await page.selectOption('#preset', name)
		await done(page)
	}

	test('is one file of less than 160 kB and requests nothing else', async () => {
		expect(statSync(file).size).toBe(bytes)
		expect(bytes).toBeLessThan(100_000)
		await visit(async ({ requests }) => {
			expect(requests[0]).toMatch(/^file:.*index\.html$/)
		}, LIGHT)
	})

	test('blocks requests by its content security policy', async () => {
		const { page } = await open(browser, file, LIGHT)
		const directive = await page.evaluate(`new Promise((resolve) => {
			addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective))
			new Image().src = 'http://127.0.0.1:9/pixel.png'
		})`)
		expect(directive).toBe('img-src')
		await page.context().close()
	})

	describe('shows the same figures as the simulator in Node', () => {
		test.each(['metastable', 'herdJitter', 'slowBulkhead', 'partialRetry'] as const)('%s', async (name) => {
			const result = simulate(scenarioOf(getPreset(name)))
			await visit(async (opened) => {
				await choose(opened, name)
				expect(await traceHash(opened.page)).toBe(result.traceHash)
				for (const figure of FIGURES)
					expect(await textOf(opened.page, `[data-figure=${figure}]`)).toBe(reading(figure))
			}, LIGHT)

			function reading(figure: FigureName): string {
				const read = readFigure(figure, result)
				return typeof read === 'string' ? en[read] : formatValue(read.value, unitOf(figure))
			}
		})

		test('draws intermediate results with animation', async () => {
			const { traceHash: expected } = simulate(scenarioOf(INITIAL))
			await visit(
				async ({ page }) => {
					expect(await traceHash(page)).toBe(expected)
				},
				'',
				{ reducedMotion: 'no-preference' },
			)
		})
	})

	test('animates a run unless the user prefers reduced motion', async () => {
		const frames = async (reducedMotion: 'reduce' | 'no-preference'): Promise<number> => {
			let count = 0
			await visit(
				async ({ page }) => {
					await page.evaluate(`
						frames = 0
						new MutationObserver(() => frames++).observe(document.querySelector('.plot'), { childList: true })
					`)
					await page.click('#again')
					await done(page)
					count = Number(await page.evaluate('frames'))
				},
				LIGHT,
				{ reducedMotion },
			)
			return count
		}
		expect(await frames('reduce')).toBe(1)
		expect(await frames('no-preference')).toBeGreaterThan(5)
	})

	test('runs new settings when a slider moves and compares them with the previous run', async () => {
		await visit(async ({ page }) => {
			const before = await textOf(page, '[data-figure=goodShare]')
			expect(await textOf(page, '.compared')).toBe('')
			await page.focus('#knob-retries')
			// One key press: with several, a run in between could finish on a busy machine and become the previous run.
			await page.keyboard.press('Home')
			await done(page)
			const settings = changeSettings(INITIAL, { retries: 0 })
			expect(hashOf(page)).toBe('retries=0')
			expect(await page.getAttribute('#knob-retries', 'aria-valuetext')).toBe('0')
			expect(await traceHash(page)).toBe(simulate(scenarioOf(settings)).traceHash)
			expect(await textOf(page, '[data-figure=goodShare]')).not.toBe(before)
			expect(await textOf(page, '.compared')).toBe(`better than ${before}`)
			expect(await page.locator('.plot path.previous').count()).toBe(4)
			// Settings that need retries are hidden.
			expect(await page.isVisible('#knob-jitter')).toBe(false)
			expect(await page.inputValue('#preset')).toBe('')
		})
	})

	test('prints the policy and the scenario of the settings', async () => {
		const settings: Settings = { ...getPreset('slowBulkhead'), retries: 2, budget: 'quota', breaker: 'rate' }
		await visit(async ({ page }) => {
			expect(await textOf(page, '#code')).toBe(policyToTypeScript(layersOf(settings)))
			expect(await textOf(page, '#scenario')).toBe(scenarioFile(scenarioOf(settings)))
			const copy = join(folder, 'scenario.ts')
			writeFileSync(copy, await textOf(page, '#scenario'))
			const { default: scenario }: { default: Scenario } = await import(copy)
			expect(simulate(scenario).traceHash).toBe(await traceHash(page))
		}, linkTo(settings))
	})

	test('copies what it shows', async () => {
		await visit(
			async ({ page }) => {
				await page.click('#copy-code')
				await page.waitForSelector('#copied:not(:empty)')
				expect(await textOf(page, '#copied')).toBe(en.copied)
				expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await textOf(page, '#code'))
			},
			LIGHT,
			{ permissions: ['clipboard-read', 'clipboard-write'] },
		)
	})

	test('opens a link with its settings, also when the hash changes', async () => {
		const settings = changeSettings(INITIAL, {
			load: 0.9,
			breaker: 'rate',
			bulkhead: 20,
			dropExpired: true,
			seed: 42,
		})
		await visit(async ({ page }) => {
			expect(await textOf(page, '#scenario')).toBe(scenarioFile(scenarioOf(settings)))
			expect(await page.inputValue('#seed')).toBe('42')
			expect(await page.isChecked('#knob-dropExpired')).toBe(true)
			expect(await page.inputValue('#knob-breaker')).toBe('rate')
			await page.click('#next-seed')
			await done(page)
			expect(fromHash(hashOf(page)).settings).toEqual({ ...settings, seed: 43 })
			await page.evaluate(`location.hash = 'load=0.1'`)
			await page.waitForFunction(`document.getElementById('seed').value === '1'`)
			await done(page)
			expect(await textOf(page, '#scenario')).toBe(
				scenarioFile(scenarioOf(changeSettings(INITIAL, { load: 0.1 }))),
			)
		}, linkTo(settings))
	})

	test('switches to Japanese by menu, link or browser language', async () => {
		await visit(async ({ page }) => {
			await page.selectOption('#language', 'ja')
			expect(await textOf(page, 'h1')).toBe(ja.title)
			expect(await page.getAttribute('html', 'lang')).toBe('ja')
			expect(await textOf(page, 'label[for=knob-load]')).toBe(ja.knobs.load)
			expect(await textOf(page, '#outcome')).toMatch(/^回復しました/)
			expect(hashOf(page)).toBe(`${LIGHT}&language=ja`)
			await page.selectOption('#language', 'en')
			expect(await textOf(page, 'h1')).toBe(en.title)
		}, LIGHT)
		const isJapanese = async ({ page }: Opened): Promise<void> => {
			expect(await textOf(page, 'h1')).toBe(ja.title)
			expect(await page.inputValue('#language')).toBe('ja')
		}
		await visit(isJapanese, `${LIGHT}&language=ja`)
		await visit(isJapanese, LIGHT, { locale: 'ja-JP' })
	})

	test.each([
		[360, 'language=en'],
		[360, 'language=ja'],
		[320, 'language=ja'],
		[800, 'language=en'],
		[1_180, 'language=ja'],
	])('needs no horizontal scrolling at %i pixels (%s)', async (width, language) => {
		const settings = { ...getPreset('slowBulkhead'), load: 0.1, retries: 3, budget: 'ratio' } as const
		await visit(
			async ({ page }) => {
				for (const summary of await page.locator('summary').all()) await summary.click()
				expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
			},
			`${linkTo(settings)}&${language}`,
			{ viewport: { width, height: 740 } },
		)
	})

	test('names every control and makes it reachable by keyboard', async () => {
		await visit(async ({ page }) => {
			const controls = 'input:not([type=hidden]), select, button, summary'
			const nameless = await page.evaluate(`[...document.querySelectorAll('${controls}')]
				.filter((control) => control.checkVisibility())
				.filter((control) => !([...(control.labels ?? [])].map((label) => label.textContent).join('') || control.textContent).trim() || control.tabIndex < 0)
				.map((control) => control.outerHTML)`)
			expect(nameless).toEqual([])
			const charts = await page.locator('svg[role=img]').all()
			expect(charts).toHaveLength(4)
			for (const chart of charts) expect(await chart.getAttribute('aria-label')).toMatch(/at most/)
		}, LIGHT)
	})

	test.each(['light', 'dark'] as const)('has enough contrast in %s mode', async (colorScheme) => {
		await visit(
			async ({ page }) => {
				const colors: Record<string, string> = await page.evaluate(`Object.fromEntries(
					['paper', 'side', 'text', 'muted', 'good', 'bad', 'accent', 'on-accent'].map((name) =>
						[name, getComputedStyle(document.documentElement).getPropertyValue('--' + name)]))`)
				const six = (name: string) => (colors[name] ?? '').replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3')
				for (const ink of ['text', 'muted', 'good', 'bad'])
					for (const paper of ['paper', 'side'])
						expect(contrast(six(ink), six(paper)), `${ink} on ${paper}`).toBeGreaterThanOrEqual(4.5)
				expect(contrast(six('on-accent'), six('accent'))).toBeGreaterThanOrEqual(4.5)
				expect(contrast('#ffffff', six('paper')) > 10).toBe(colorScheme === 'dark')
			},
			LIGHT,
			{ colorScheme },
		)
	})
})

/** Returns the hash of a link with all settings. */
function linkTo(settings: Settings): string {
	return Object.entries(settings)
		.map(([name, value]) => `${name}=${value === Infinity ? 'none' : value}`)
		.join('&')
}
