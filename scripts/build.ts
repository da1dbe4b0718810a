/** `npm run build`: dist/ anew, by the compiler alone. What a bundler would add, a user's bundler does better; only the playground is a page. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPlayground } from './playground.ts'
import { ROOT, tsc } from './tools.ts'

// A file that src no longer has would otherwise stay in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const { ok, output } = tsc('-p', 'tsconfig.build.json')
process.stdout.write(output)
if (ok) await buildPlayground(join(ROOT, 'dist', 'playground'))
else process.exitCode = 1
