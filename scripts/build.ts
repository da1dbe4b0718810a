/** `npm run build`: writes dist/ with the compiler alone. Users have their own bundler; only the playground is bundled. */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPlayground } from './playground.ts'
import { inTurn, ROOT, tsc } from './tools.ts'

// Files that were deleted from src must not stay in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const { ok, output } = inTurn(
	() => tsc('-p', 'tsconfig.cli.json'),
	() => tsc('-p', 'tsconfig.build.json'),
)
process.stdout.write(output)
if (ok) {
	// npm makes the command executable when it installs the package. In a clone this script has to.
	chmodSync(join(ROOT, 'dist', 'cli', 'main.js'), 0o755)
	await buildPlayground(join(ROOT, 'dist', 'playground'))
} else process.exitCode = 1
