/**
 * `npm run recipes`: builds and packs the package, installs it with the packages of test/recipes as a user would, and runs the
 * recipes of the guide. Arguments go to vitest: `-- stripe` runs one recipe.
 */
import { join } from 'node:path'
import { build, installPacked, runSuites } from './packed-suite.ts'
import { installIn, installRuntimes } from './runtimes/processes.ts'
import { ROOT } from './tools.ts'

const HOME = join(ROOT, 'test', 'recipes')

build()
// The lock file is used. `npm ci` would reject it, because registries lack some of the optional packages for other systems.
installIn(HOME, ['install', '--no-save'])
// workerd, for the recipe for Cloudflare Workers.
installRuntimes()
installPacked(HOME)
process.exitCode = runSuites(HOME, process.argv.slice(2))
