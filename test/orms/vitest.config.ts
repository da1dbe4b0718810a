import { join } from 'node:path'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { readJson } from '../../scripts/tools.ts'

const HOME = import.meta.dirname
const LOWEST = join(HOME, 'lowest')
const isLowest = process.env['YAOKI_ORMS'] === 'lowest'
const NAMES = Object.keys(Object(readJson(join(LOWEST, 'package.json'))['devDependencies']))

/** Resolves the packages as if the tests were in the folder with the lowest versions. */
const lowestVersions: Plugin = {
	name: 'lowest-versions',
	enforce: 'pre',
	resolveId(source) {
		if (!NAMES.some((name) => source === name || source.startsWith(`${name}/`))) return null
		return this.resolve(source, join(LOWEST, 'package.json'), { skipSelf: true })
	},
}

export default defineConfig({
	plugins: isLowest ? [lowestVersions] : [],
	test: {
		include: ['*.test.ts'],
		setupFiles: ['../guard/end-with-runner.ts'],
		globalSetup: ['../support/shared-postgres.ts', 'support/prepare.ts'],
		testTimeout: 120_000,
		hookTimeout: 120_000,
		// Most of the time the tests wait for the database.
		maxWorkers: 3,
	},
})
