import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
	resolve: {
		alias: [
			{ find: /^yaoki$/, replacement: fileURLToPath(new URL('./src/core/index.ts', import.meta.url)) },
			{ find: /^yaoki\/(.+)$/, replacement: fileURLToPath(new URL('./src/$1/index.ts', import.meta.url)) },
		],
	},
	test: {
		include: ['test/**/*.test.ts'],
		exclude: ['test/runtimes/**', '**/node_modules/**'],
		// No test waits for time to pass; this only keeps a busy machine from failing one.
		testTimeout: 20_000,
		restoreMocks: true,
		// Of two cores vitest would leave one idle; and what waits for a process, a server or a lease needs none.
		maxWorkers: Math.ceil(1.5 * availableParallelism()),
		execArgv: ['--expose-gc'],
		unstubGlobals: true,
		coverage: {
			provider: 'v8',
			include: ['src/**'],
			reporter: ['text-summary', 'json-summary'],
			thresholds: { lines: 98, functions: 98, branches: 94, statements: 98 },
		},
	},
})
