/**
 * `npm run runtimes`: builds and packs the package, installs it as a user would, and runs the same suite (test/runtimes/suite.js)
 * on every supported runtime. Prints a row for each; exits with 1 if a test fails. `-- Jest` runs only those whose name contains the text.
 */
import { copyFileSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pack } from './pack.ts'
import { inChromium } from './runtimes/chromium.ts'
import { dashboardInChromium } from './runtimes/dashboard.ts'
import { inJest, installJest } from './runtimes/jest.ts'
import { installRuntimes, processes } from './runtimes/processes.ts'
import type { Runtime, Site } from './runtimes/runtime.ts'
import { startServers } from './runtimes/servers.ts'
import { installTypeScript, withTypeScript } from './runtimes/typescript.ts'
import { inWorkerd } from './runtimes/workerd.ts'
import { ROOT, run } from './tools.ts'

const SUITE = join(ROOT, 'test', 'runtimes')

const row = (...cells: readonly unknown[]): string =>
	[
		String(cells[0]).padEnd(14),
		String(cells[1]).padEnd(16),
		...cells.slice(2).map((cell) => String(cell).padStart(7)),
	]
		.join(' ')
		.trimEnd()

/** Prints the row of a runtime. Returns how many tests passed and failed. */
async function tryOn(runtime: Runtime, site: Site): Promise<readonly [passed: number, failed: number]> {
	const from = performance.now()
	const outcome = await runtime.run(site)
	if (outcome === undefined) {
		console.log(row(runtime.name, `skipped: ${runtime.missing}`))
		// Acceptable on a user's machine, but CI must run everything.
		return [0, process.env['CI'] ? 1 : 0]
	}
	const { version, passed, failed, skipped } = outcome
	console.log(
		row(runtime.name, version, passed, failed.length, skipped.length, Math.round(performance.now() - from)),
	)
	for (const { name, error } of failed)
		console.log(`  FAILED: ${name}\n    ${error.trim().replaceAll('\n', '\n    ')}`)
	for (const name of skipped) console.log(`  skipped: ${name}`)
	return [passed, failed.length]
}

const built = run(process.execPath, ['scripts/build.ts'])
if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
installRuntimes()
installJest()
installTypeScript()
const packed = pack()
for (const file of readdirSync(SUITE))
	if (/\.c?js$/.test(file)) copyFileSync(join(SUITE, file), join(packed.home, file))
// The driver is the one of the tests. Users install it themselves.
symlinkSync(join(ROOT, 'node_modules', 'pg'), join(packed.home, 'node_modules', 'pg'))
const servers = await startServers(packed.home)
try {
	let total: readonly [number, number] = [0, 0]
	console.log(row('runtime', 'version', 'passed', 'failed', 'skipped', 'ms'))
	const wanted = process.argv[2] ?? ''
	for (const runtime of [
		...processes,
		...inJest,
		...inWorkerd,
		inChromium,
		dashboardInChromium,
		withTypeScript,
	]) {
		if (!runtime.name.includes(wanted)) continue
		const [passed, failed] = await tryOn(runtime, { ...packed, urls: servers.urls })
		total = [total[0] + passed, total[1] + failed]
	}
	console.log(`${total[0]} passed, ${total[1]} failed`)
	process.exitCode = total[1] > 0 ? 1 : 0
} finally {
	await servers.close()
	packed.remove()
}
