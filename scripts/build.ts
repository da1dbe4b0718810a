/** `npm run build`: writes dist/, the package without its manifest and texts. Types are checked by `npm run check`. */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildDeclarations } from './build/declarations.ts'
import { buildJavaScript } from './build/javascript.ts'
import { writeDashboardPage } from './dashboard-page.ts'
import { buildPlayground } from './playground.ts'
import { ROOT } from './tools.ts'

const DIST = join(ROOT, 'dist')

// Files that were deleted from src must not stay in the package.
rmSync(DIST, { recursive: true, force: true })
// It becomes a part of the JavaScript.
await writeDashboardPage(DIST)
await Promise.all([buildJavaScript(DIST), buildDeclarations(DIST), buildPlayground(join(DIST, 'playground'))])
// npm makes the command executable when it installs the package. In a clone this script has to.
chmodSync(join(DIST, 'cli', 'main.js'), 0o755)
