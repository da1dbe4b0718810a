import { defineConfig } from 'vitest/config'

export default defineConfig({
	test: {
		include: ['*.test.ts', 'support/*.test.ts'],
		setupFiles: ['../guard/end-with-runner.ts'],
		globalSetup: 'support/write-recipes.ts',
		// Servers start and real delays elapse. The limits are only for tests that hang.
		testTimeout: 120_000,
		hookTimeout: 120_000,
		// Most of the time the tests wait for servers.
		maxWorkers: 3,
		restoreMocks: true,
		unstubGlobals: true,
	},
})
