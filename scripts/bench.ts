/** Builds the package, installs the peers into bench/ (never into the root) and runs the bench on the built package. */
import { spawnSync } from 'node:child_process'

function run(command: string, ...args: readonly string[]): void {
	// Standard output is for the results, so the preparation prints to standard error.
	const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
	if (status !== 0) process.exit(status ?? 1)
}

run('npm', 'run', '--silent', 'build')
run('npm', 'install', '--prefix', 'bench', '--no-package-lock', '--no-audit', '--no-fund', '--silent')
run('npx', 'tsc', '-p', 'bench')
// The programs of the comparison in docs/guide/differences.md still do what they say.
run('node', 'bench/compare/check.ts')
run('node', '--expose-gc', 'bench/run.ts', ...process.argv.slice(2))
