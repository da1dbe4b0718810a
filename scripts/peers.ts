/**
 * `npm run peers`: installs the lowest supported version of each peer into test/peers, and runs the contract suites with them. The other suites
 * run with the newest. Arguments go to vitest: `-- test/grpc` runs the suites of one folder.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installIn } from './runtimes/processes.ts'
import { ROOT } from './tools.ts'

const HOME = join(ROOT, 'test', 'peers')

installIn(HOME)
const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const args = ['run', '--config', join(HOME, 'vitest.config.ts'), ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, [vitest, ...args], { cwd: ROOT, stdio: 'inherit' }).status ?? 1
