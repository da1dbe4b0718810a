/**
 * `npm run recipes`: builds and packs the package, installs it with the packages of test/recipes as a user would, and runs the
 * recipes of the guide. Arguments go to vitest: `-- stripe` runs one recipe.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pack } from './pack.ts'
import { installIn, installRuntimes } from './runtimes/processes.ts'
import { ROOT, run } from './tools.ts'

const HOME = join(ROOT, 'test', 'recipes')

const built = run(process.execPath, ['scripts/build.ts'])
if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
// The lock file is used. `npm ci` would reject it, because registries lack some of the optional packages for other systems.
installIn(HOME, ['install', '--no-save'])
// workerd, for the recipe for Cloudflare Workers.
installRuntimes()
const packed = pack()
const installed = join(HOME, 'node_modules', 'yaoki')
try {
	rmSync(installed, { recursive: true, force: true })
	// A copy and no link: bundlers do not follow links that leave the project.
	cpSync(join(packed.home, 'node_modules', 'yaoki'), installed, { recursive: true })
} finally {
	packed.remove()
}
const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const args = ['run', '--root', HOME, ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, [vitest, ...args], { stdio: 'inherit' }).status ?? 1
