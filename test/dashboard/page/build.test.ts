/** The built page: its size, and what its content security policy allows. */
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Assets, buildDashboardPage } from '../../../scripts/dashboard-page.ts'

describe('the built page', () => {
	let assets: Assets = {}
	let firstLoad = 0
	beforeAll(async () => {
		;({ assets, firstLoad } = await buildDashboardPage())
	})
	const read = (name: string): string =>
		gunzipSync(Buffer.from(assets[name]?.gzip ?? '', 'base64')).toString('utf8')

	test('has at most 70 kB gzip in its first load, and charts that are loaded later', () => {
		const bytes = ['index.html', 'app.js', 'app.css'].map(
			(name) => Buffer.from(assets[name]?.gzip ?? '', 'base64').length,
		)
		expect(bytes.reduce((sum, count) => sum + count)).toBe(firstLoad)
		expect(firstLoad).toBeLessThanOrEqual(70_000)
		expect(Object.keys(assets).sort()).toEqual(['app.css', 'app.js', 'app.svg', 'charts.js', 'index.html'])
		expect(read('index.html')).not.toContain('charts.js')
		expect(read('app.js')).toContain('charts.js')
	})

	test('loads everything below its own path, without inline code', () => {
		const html = read('index.html')
		const loaded = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path)
		expect(loaded.sort()).toEqual(['_yaoki/app.css', '_yaoki/app.js', '_yaoki/app.svg'])
		expect(html).toContain('<meta name="yaoki-token" content="" />')
		expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script>/)
	})
})
