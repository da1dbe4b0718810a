/**
 * `npm run orms`: builds and packs the package, installs it with the ORMs of test/orms as a user would, and runs their suites and the
 * programs of docs/guide/orms*.md. `-- --lowest` does that with the lowest supported versions. Other arguments go to vitest: `-- prisma`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pack } from './pack.ts'
import { installIn } from './runtimes/processes.ts'
import { ROOT, run } from './tools.ts'

const LOWEST = '--lowest'
const HOME = join(ROOT, 'test', 'orms')
const given = process.argv.slice(2)
const isLowest = given.includes(LOWEST)

const built = run(process.execPath, ['scripts/build.ts'])
if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
// Without install scripts: Prisma downloads engines that the suites do not use.
installIn(isLowest ? join(HOME, 'lowest') : HOME, ['ci', '--ignore-scripts'])
const packed = pack()
const installed = join(HOME, 'node_modules', 'yaoki')
try {
	rmSync(installed, { recursive: true, force: true })
	cpSync(join(packed.home, 'node_modules', 'yaoki'), installed, { recursive: true })
} finally {
	packed.remove()
}
const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const args = ['run', '--root', HOME, ...given.filter((argument) => argument !== LOWEST)]
const env = { ...process.env, YAOKI_ORMS: isLowest ? 'lowest' : 'newest' }
process.exitCode = spawnSync(process.execPath, [vitest, ...args], { stdio: 'inherit', env }).status ?? 1
