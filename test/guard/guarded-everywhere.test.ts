import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** One starts a program that does not exist, and the guard is its own. */
const ALLOWED = ['test/core/classify/files.test.ts', 'test/guard/guard.ts']

test('every file of test, scripts and bench that starts a process guards it', () => {
	// Not `readdirSync`, which would read the peers that the benchmark installs in bench/node_modules.
	const files = globSync('{test,scripts,bench}/**/*.{js,ts}', {
		cwd: ROOT,
		exclude: (name) => name === 'node_modules' || name === '.cache',
	})
	const starting = files.filter((file) => {
		const code = readFileSync(join(ROOT, file), 'utf8')
		return /from 'node:child_process'/.test(code) && /\b(spawn|fork|execFile)\(/.test(code)
	})
	expect(starting.length).toBeGreaterThan(10)
	const unguarded = starting.filter((file) => !/\bguard\(/.test(readFileSync(join(ROOT, file), 'utf8')))
	expect(unguarded.sort()).toEqual(ALLOWED)
})
