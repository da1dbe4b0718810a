/** Runs the tests of the dashboard in Chromium, on the demo of the installed package, and axe-core in all views. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../tools.ts'
import { CHROMIUM, inChromium } from './chromium.ts'
import { outcomeOf } from './jest.ts'
import { start } from './processes.ts'
import type { Runtime } from './runtime.ts'

const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')

export const dashboardInChromium: Runtime = {
	...inChromium,
	name: 'Dashboard',
	async run({ home }) {
		if (!existsSync(CHROMIUM)) return undefined
		const file = join(home, 'dashboard.json')
		const env = { ...process.env, YAOKI_MAIN: join(home, 'node_modules', 'yaoki', 'dist', 'cli', 'main.js') }
		const args = [VITEST, 'run', '--project', 'browser', '--reporter=json', `--outputFile=${file}`]
		const { report } = await start(process.execPath, args, ROOT, { env, timeout: 1_800_000 })
		const { stdout: version } = await start(CHROMIUM, ['--version'], ROOT)
		const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
		return { version: /[\d.]+/.exec(version)?.[0] ?? 'unknown', ...outcomeOf('Dashboard', text, report) }
	},
}
