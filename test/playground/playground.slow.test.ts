/** The built page as somebody opens it: from a file, in a real browser. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { FIGURES, type FigureName, readingOf, unitOf, written } from '../../playground/figures.ts'
import { fromHash } from '../../playground/link.ts'
import { type PresetName, presetOf } from '../../playground/presets.ts'
import { layersOf, scenarioFile, scenarioOf } from '../../playground/scenario.ts'
import { changed, INITIAL, type Settings } from '../../playground/settings.ts'
import { en } from '../../playground/words-en.ts'
import { ja } from '../../playground/words-ja.ts'
import { buildPlayground } from '../../scripts/playground.ts'
import { ROOT } from '../../scripts/tools.ts'
import { contrast } from '../../src/sim/charts/palette.ts'
import { policyToTypeScript } from '../../src/sim/scenario/source.ts'
import { done, hashOf, isSkipped, launch, type Opened, open, textOf, traceHash } from './browser.ts'

describe.skipIf(isSkipped)('the playground in Chromium', { timeout: 60_000 }, () => {
	let browser: Browser
	let file = ''
	let bytes = 0
	// Inside the repository, where a file that was printed finds `yaoki`; git does not see it.
	mkdirSync(join(ROOT, '.cache'), { recursive: true })
	const folder = mkdtempSync(join(ROOT, '.cache', 'playground-'))

	beforeAll(async () => {
		;({ file, bytes } = await buildPlayground(folder))
		browser = await launch()
	}, 60_000)
	afterAll(async () => {
		await browser?.close()
		rmSync(folder, { recursive: true, force: true })
	})

	/** Next to nothing to do, for tests of the page and not of the run. */
	const LIGHT = 'workers=1&load=0.1'

	/** Opens the page for a test, and holds it to what every test expects. */
	async function visit(
		look: (opened: Opened) => Promise<void>,
		hash?: string,
		options?: Parameters<typeof open>[3],
	): Promise<void> {
		const opened = await open(browser, file, hash, options)
		try {
			await look(opened)
			expect(opened.said).toEqual([])
			expect(opened.asked).toHaveLength(1)
		} finally {
			await opened.page.context().close()
		}
	}

	const choose = async ({ page }: Opened, name: PresetName): Promise<void> => {
		await page.selectOption('#preset', name)
		await done(page)
	}

	test('it is one file of less than 150 kB, and asks for nothing else', async () => {
		expect(statSync(file).size).toBe(bytes)
		expect(bytes).toBeLessThan(150_000)
		await visit(async ({ asked }) => {
			expect(asked[0]).toMatch(/^file:.*index\.html$/)
		}, LIGHT)
	})

	test('it could not even if something in it wanted to', async () => {
		const { page } = await open(browser, file, LIGHT)
		const refused = await page.evaluate(`new Promise((resolve) => {
			addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective))
			new Image().src = 'http://127.0.0.1:9/pixel.png'
		})`)
		expect(refused).toBe('img-src')
		await page.context().close()
	})

	describe('shows the figures that the simulator gives in Node', () => {
		test.each(['metastable', 'herdJitter', 'slowBulkhead', 'partialRetry'] as const)('%s', async (name) => {
			const result = simulate(scenarioOf(presetOf(name)))
			await visit(async (opened) => {
				await choose(opened, name)
				expect(await traceHash(opened.page)).toBe(result.traceHash)
				for (const figure of FIGURES)
					expect(await textOf(opened.page, `[data-figure=${figure}]`)).toBe(reading(figure))
			}, LIGHT)

			function reading(figure: FigureName): string {
				const read = readingOf(figure, result)
				return typeof read === 'string' ? en[read] : written(read.value, unitOf(figure))
			}
		})

		test('also when it is watched as it happens', async () => {
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

	test('a run is drawn as it goes on, but not for those who want no motion', async () => {
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

	test('moving a slider runs the new setting, and compares it with the one before', async () => {
		await visit(async ({ page }) => {
			const before = await textOf(page, '[data-figure=goodShare]')
			expect(await textOf(page, '.compared')).toBe('')
			await page.focus('#knob-retries')
			// In one go: of three steps, one in the middle may be run to its end on a busy machine, and would be the one before.
			await page.keyboard.press('Home')
			await done(page)
			const settings = changed(INITIAL, { retries: 0 })
			expect(hashOf(page)).toBe('retries=0')
			expect(await page.getAttribute('#knob-retries', 'aria-valuetext')).toBe('0')
			expect(await traceHash(page)).toBe(simulate(scenarioOf(settings)).traceHash)
			expect(await textOf(page, '[data-figure=goodShare]')).not.toBe(before)
			expect(await textOf(page, '.compared')).toBe(`better than ${before}`)
			expect(await page.locator('.plot path.before').count()).toBe(4)
			// What needs retries is gone with them.
			expect(await page.isVisible('#knob-jitter')).toBe(false)
			expect(await page.inputValue('#preset')).toBe('')
		})
	})

	test('the TypeScript and the scenario that it prints are those of the settings', async () => {
		const settings: Settings = { ...presetOf('slowBulkhead'), retries: 2, budget: 'quota', breaker: 'rate' }
		await visit(async ({ page }) => {
			expect(await textOf(page, '#code')).toBe(policyToTypeScript(layersOf(settings)))
			expect(await textOf(page, '#scenario')).toBe(scenarioFile(scenarioOf(settings)))
			const copy = join(folder, 'scenario.ts')
			writeFileSync(copy, await textOf(page, '#scenario'))
			const { default: scenario }: { default: Scenario } = await import(copy)
			expect(simulate(scenario).traceHash).toBe(await traceHash(page))
		}, linkTo(settings))
	})

	test('what is copied is what is shown', async () => {
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

	test('a link opens with the settings that it was made with, and so does the next one', async () => {
		const settings = changed(INITIAL, {
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
			expect(await textOf(page, '#scenario')).toBe(scenarioFile(scenarioOf(changed(INITIAL, { load: 0.1 }))))
		}, linkTo(settings))
	})

	test('speaks Japanese to those who ask for it, and to whose browser does', async () => {
		await visit(async ({ page }) => {
			await page.selectOption('#language', 'ja')
			expect(await textOf(page, 'h1')).toBe(ja.title)
			expect(await page.getAttribute('html', 'lang')).toBe('ja')
			expect(await textOf(page, 'label[for=knob-load]')).toBe(ja.knobs.load)
			expect(await textOf(page, '#verdict')).toMatch(/^回復しました/)
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
	])('at %i pixels (%s) nothing has to be scrolled sideways', async (width, language) => {
		const settings = { ...presetOf('slowBulkhead'), load: 0.1, retries: 3, budget: 'ratio' } as const
		await visit(
			async ({ page }) => {
				for (const summary of await page.locator('summary').all()) await summary.click()
				expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
			},
			`${linkTo(settings)}&${language}`,
			{ viewport: { width, height: 740 } },
		)
	})

	test('every control has a name, and all can be reached by the keyboard', async () => {
		await visit(async ({ page }) => {
			const controls = 'input:not([type=hidden]), select, button, summary'
			const nameless = await page.evaluate(`[...document.querySelectorAll('${controls}')]
				.filter((control) => control.checkVisibility())
				.filter((control) => !([...(control.labels ?? [])].map((label) => label.textContent).join('') || control.textContent).trim() || control.tabIndex < 0)
				.map((control) => control.outerHTML)`)
			expect(nameless).toEqual([])
			const pictures = await page.locator('svg[role=img]').all()
			expect(pictures).toHaveLength(4)
			for (const picture of pictures) expect(await picture.getAttribute('aria-label')).toMatch(/at most/)
		}, LIGHT)
	})

	test.each(['light', 'dark'] as const)('text can be read on a %s page', async (colorScheme) => {
		await visit(
			async ({ page }) => {
				const colours: Record<string, string> = await page.evaluate(`Object.fromEntries(
					['paper', 'side', 'text', 'muted', 'good', 'bad', 'accent', 'on-accent'].map((name) =>
						[name, getComputedStyle(document.documentElement).getPropertyValue('--' + name)]))`)
				const six = (name: string) => (colours[name] ?? '').replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3')
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

/** A link as the page writes it. */
function linkTo(settings: Settings): string {
	return Object.entries(settings)
		.map(([name, value]) => `${name}=${value === Infinity ? 'none' : value}`)
		.join('&')
}
