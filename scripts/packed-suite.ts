/** Suites that use the package as a user would: built, packed, and installed in a folder that has packages of its own. */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pack } from './pack.ts'
import { ROOT, run } from './tools.ts'

/** Builds the package. A failed build throws. */
export function build(): void {
	const built = run(process.execPath, ['scripts/build.ts'])
	if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
}

/** Installs the packed build beside the packages of a folder. */
export function installPacked(home: string): void {
	const packed = pack()
	const installed = join(home, 'node_modules', 'yaoki')
	try {
		rmSync(installed, { recursive: true, force: true })
		// A copy and no link: bundlers do not follow links that leave the project.
		cpSync(join(packed.home, 'node_modules', 'yaoki'), installed, { recursive: true })
	} finally {
		packed.remove()
	}
}

/** Runs the suites of a folder with vitest, and returns the exit code. */
export function runSuites(
	home: string,
	given: readonly string[],
	environment: Readonly<Record<string, string>> = {},
): number {
	const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
	const env = { ...process.env, ...environment }
	const args = [vitest, 'run', '--root', home, ...given]
	return spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1
}
