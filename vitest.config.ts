import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Tests that take long, start databases, processes or browsers, or measure memory. `npm run test:slow` runs them. */
const SLOW = 'test/**/*.slow.test.ts'
/** `npm run blocks` runs them with the packed package. Without it, they run with the source. */
const TUTORIALS = 'test/examples/*.tutorial.test.ts'
/** The dashboard in Chromium. `npm run runtimes` runs them with the packed package. Without it, they run with the last build. */
const BROWSER = 'test/**/*.browser.test.ts'
/** These measure memory, so they have no neighbors. */
const MEMORY = ['test/**/memory.slow.test.ts', 'test/soak/**/*.slow.test.ts']
const HTTP = 'test/http/**/*.test.ts'

export default defineConfig({
	resolve: {
		alias: [
			{ find: /^yaoki$/, replacement: fileURLToPath(new URL('./src/core/index.ts', import.meta.url)) },
			{ find: /^yaoki\/(.+)$/, replacement: fileURLToPath(new URL('./src/$1/index.ts', import.meta.url)) },
		],
	},
	test: {
		// A limit for tests that hang. It is generous, because a busy machine may stop a process for seconds.
		testTimeout: 60_000,
		hookTimeout: 60_000,
		restoreMocks: true,
		unstubGlobals: true,
		// The second one prints the CPU time.
		reporters: ['default', './test/support/cpu-time.ts'],
		setupFiles: ['test/guard/end-with-runner.ts', 'test/support/real-timers.ts'],
		globalSetup: 'test/support/shared-postgres.ts',
		execArgv: ['--expose-gc'],
		// Vitest leaves one core idle. Some tests wait for a server, so more workers than cores pay off.
		maxWorkers: Math.ceil(1.5 * availableParallelism()),
		projects: [
			{
				extends: true,
				test: {
					name: 'unit',
					include: ['test/**/*.test.ts'],
					exclude: [
						SLOW,
						TUTORIALS,
						BROWSER,
						HTTP,
						'test/runtimes/**',
						'test/recipes/**',
						'test/orms/**',
						'**/node_modules/**',
					],
					// A worker runs many files. A process for each file would take as long as the tests.
					isolate: false,
				},
			},
			{
				extends: true,
				test: {
					name: 'http',
					include: [HTTP],
					exclude: [SLOW, '**/node_modules/**'],
					// Each file has its own process: undici keeps timers and connections for all that use it.
					isolate: true,
				},
			},
			{
				extends: true,
				test: {
					name: 'slow',
					include: [SLOW],
					exclude: [...MEMORY, '**/node_modules/**'],
					testTimeout: 300_000,
					hookTimeout: 300_000,
					// Each file has its own process. Most wait for databases and timers.
					sequence: { groupOrder: 1 },
				},
			},
			{
				extends: true,
				test: { name: 'tutorials', include: [TUTORIALS], testTimeout: 300_000, hookTimeout: 300_000 },
			},
			{
				extends: true,
				test: { name: 'browser', include: [BROWSER], testTimeout: 600_000, hookTimeout: 300_000 },
			},
			{
				extends: true,
				test: {
					name: 'memory',
					include: MEMORY,
					exclude: ['**/node_modules/**'],
					testTimeout: 300_000,
					hookTimeout: 300_000,
					maxWorkers: 1,
					sequence: { groupOrder: 2 },
				},
			},
		],
		coverage: {
			provider: 'v8',
			include: ['src/**'],
			reporter: ['text-summary', 'json-summary'],
			thresholds: { lines: 98, functions: 98, branches: 94, statements: 98 },
		},
	},
})
