import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import config from '../../../vitest.config.ts'

const { projects: _, ...test } = config.test ?? {}

/** The settings of all test files, for one that no other run includes. */
export default defineConfig({
	...config,
	root: fileURLToPath(new URL('../../..', import.meta.url)),
	test: { ...test, include: ['test/guard/interrupted/servers.ts'] },
})
