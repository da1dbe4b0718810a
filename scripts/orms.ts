/**
 * `npm run orms`: builds and packs the package, installs it with the ORMs of test/orms as a user would, and runs their suites and the
 * programs of docs/guide/orms*.md. `-- --lowest` does that with the lowest supported versions. Other arguments go to vitest: `-- prisma`.
 */
import { join } from 'node:path'
import { build, installPacked, runSuites } from './packed-suite.ts'
import { installIn } from './runtimes/processes.ts'
import { ROOT } from './tools.ts'

const LOWEST = '--lowest'
const HOME = join(ROOT, 'test', 'orms')
const given = process.argv.slice(2)
const isLowest = given.includes(LOWEST)
const suites = given.filter((argument) => argument !== LOWEST)

build()
// Without install scripts: Prisma downloads engines that the suites do not use.
installIn(isLowest ? join(HOME, 'lowest') : HOME, ['ci', '--ignore-scripts'])
installPacked(HOME)
process.exitCode = runSuites(HOME, suites, { YAOKI_ORMS: isLowest ? 'lowest' : 'newest' })
