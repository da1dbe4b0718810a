/** `npm run build`: dist/ anew, by the compiler alone. What a bundler would add, a user's bundler does better. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, tsc } from './tools.ts'

// A file that src no longer has would otherwise stay in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const { ok, output } = tsc('-p', 'tsconfig.build.json')
process.stdout.write(output)
process.exitCode = ok ? 0 : 1
