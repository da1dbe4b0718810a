/** `npm run build`: dist/ anew, by the compiler alone. What a bundler would add, a user's bundler does better; only the playground is a page. */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPlayground } from './playground.ts'
import { ROOT, tsc } from './tools.ts'

// A file that src no longer has would otherwise stay in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const { ok, output } = tsc('-p', 'tsconfig.build.json')
process.stdout.write(output)
if (ok) {
	// npm makes it so where it installs it; in a clone nobody else does.
	chmodSync(join(ROOT, 'dist', 'cli', 'main.js'), 0o755)
	await buildPlayground(join(ROOT, 'dist', 'playground'))
} else process.exitCode = 1
