/**
 * `npm run mutate -- --minutes 20`: changes one operator, constant, condition or statement of the decisions in core at a time, and runs the
 * tests that reach it. A mutant that no test notices survives and is listed. The order is random and seeded, so a run that ends early is a
 * fair sample. Only tests of the mirrored folders run. Stryker 10 needs the compiler API, which TypeScript 7 does not have.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { createVitest, type TestCase, type TestSpecification, type Vitest } from 'vitest/node'
import { instrument, type Mutant } from './mutate/instrument.ts'
import { ROOT } from './tools.ts'

/** The decisions of core, and the folders with their tests. */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
	backoff: ['backoff/formula.ts', 'retry/delay.ts', 'retry/schedule.ts'],
	retry: ['retry/decision.ts'],
	'circuit-breaker': [
		'circuit-breaker/circuit.ts',
		'circuit-breaker/call-counts.ts',
		'circuit-breaker/open-state.ts',
		'circuit-breaker/outcomes.ts',
		'circuit-breaker/count-window.ts',
	],
	bulkhead: ['bulkhead/slots.ts', 'bulkhead/limits.ts'],
	budget: ['budget/retry-budget.ts', 'budget/token-budget.ts', 'budget/quota-budget.ts', 'budget/deposit.ts'],
	'rate-limiter': [
		'rate-limiter/pacer.ts',
		'rate-limiter/sliding-window.ts',
		'rate-limiter/start-queue.ts',
		'rate-limiter/token-bucket.ts',
	],
	throttle: ['throttle/decision.ts'],
	classify: ['classify/classify.ts', 'classify/error-signals.ts', 'classify/codes.ts'],
	window: ['structures/time-window.ts'],
	deadline: ['deadline/deadline.ts'],
	lint: ['lint/worst-case.ts', 'lint/range-rules.ts'],
}

const TIMEOUT_MS = 60_000

const { values } = parseArgs({
	options: {
		minutes: { type: 'string', default: '20' },
		seed: { type: 'string', default: '1' },
		only: { type: 'string' },
	},
})
const endsAt = performance.now() + Number(values.minutes) * 60_000
const folder = mkdtempSync(join(tmpdir(), 'yaoki-mutate-'))
process.env['MUTATE_FOLDER'] = folder

const tests = Object.keys(TARGETS).filter((name) => values.only === undefined || name === values.only)
const mutants: Mutant[] = []
const instrumented = new Map(
	tests
		.flatMap((name) => TARGETS[name] ?? [])
		.map((path) => {
			const file = join(ROOT, 'src', 'core', path)
			return [file, instrument(file, readFileSync(file, 'utf8'), mutants)] as const
		}),
)

const vitest = await openVitest()
try {
	const specifications = await vitest.globTestSpecifications()
	const reached = await findReached(vitest, specifications)
	const unreached = mutants.filter(({ id }) => !reached.has(id))
	const order = shuffle(mutants.filter(({ id }) => reached.has(id)))
	const survivors: Mutant[] = []
	const results = { killed: 0, timeout: 0, survived: 0 }
	for (const mutant of order) {
		if (performance.now() > endsAt) break
		writeFileSync(join(folder, 'active'), String(mutant.id))
		const result = await runMutant(vitest, reached.get(mutant.id) ?? [])
		results[result]++
		if (result === 'survived') survivors.push(mutant)
		const count = results.killed + results.timeout + results.survived
		if (count % 50 === 0) console.error(`${count} of ${order.length} mutants, ${results.survived} survived`)
	}
	const { killed, timeout, survived } = results
	const run = killed + timeout + survived
	for (const mutant of [...survivors, ...unreached].sort((a, b) => a.id - b.id)) console.log(describe(mutant))
	const share = ((100 * (killed + timeout)) / Math.max(1, run)).toFixed(1)
	console.log(
		`${mutants.length} mutants, ${unreached.length} not reached by a test. Of ${run} that ran ${killed} were killed, ` +
			`${timeout} timed out and ${survived} survived: ${share} %`,
	)
} finally {
	await vitest.close()
	rmSync(folder, { recursive: true, force: true })
}

function openVitest(): Promise<Vitest> {
	const source = (path: string) => join(ROOT, 'src', path)
	return createVitest(
		'test',
		{
			...{ root: ROOT, config: false, watch: false, reporters: [{}], testTimeout: TIMEOUT_MS },
			include: tests.map((name) => `test/core/${name}/**/*.test.ts`),
			exclude: ['**/*.slow.test.ts'],
			...{ setupFiles: ['scripts/mutate/setup.ts'], execArgv: ['--expose-gc'], restoreMocks: true },
			unstubGlobals: true,
			// The cache on disk does not know of the mutants.
			fsModuleCache: false,
			...{ pool: 'forks', maxWorkers: 1 },
		},
		{
			resolve: {
				alias: [
					{ find: /^yaoki$/, replacement: source('core/index.ts') },
					{ find: /^yaoki\/(.+)$/, replacement: source('$1/index.ts') },
				],
			},
			plugins: [
				{
					name: 'mutants',
					enforce: 'pre',
					transform: (_, id) => instrumented.get(id.replace(/\?.*$/, '')),
				},
			],
		},
	)
}

/** Runs all tests without a mutant, and returns for each mutant the test files that reach it, the fastest first. */
async function findReached(
	vitest: Vitest,
	all: readonly TestSpecification[],
): Promise<ReadonlyMap<number, readonly TestSpecification[]>> {
	writeFileSync(join(folder, 'active'), '0')
	writeFileSync(join(folder, 'skipped'), '[]')
	const { testModules } = await vitest.runTestSpecifications([...all])
	vitest.config.bail = 1
	for (const project of vitest.projects) project.config.bail = 1
	const failed = testModules.flatMap((module) => [...module.children.allTests('failed')])
	for (const { fullName, module } of failed)
		console.log(`Skipped, because it fails without a mutant: ${module.relativeModuleId} > ${fullName}`)
	writeFileSync(join(folder, 'skipped'), JSON.stringify(failed.map(({ fullName }) => fullName)))
	const durations = new Map(testModules.map((module) => [module.moduleId, module.diagnostic().duration]))
	const fastestFirst = all.toSorted(
		(a, b) => (durations.get(a.moduleId) ?? 0) - (durations.get(b.moduleId) ?? 0),
	)
	const byFile = new Map<string, ReadonlySet<number>>(
		readFileSync(join(folder, 'reached'), 'utf8')
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line))
			.map(({ file, reached }) => [file, new Set<number>(reached)]),
	)
	const entries = mutants.map(({ id }) => {
		return [id, fastestFirst.filter(({ moduleId }) => byFile.get(moduleId)?.has(id))] as const
	})
	return new Map(entries.filter(([, specifications]) => specifications.length > 0))
}

type Result = 'killed' | 'timeout' | 'survived'

/** One file after the other: most mutants are killed by the first. */
async function runMutant(vitest: Vitest, specifications: readonly TestSpecification[]): Promise<Result> {
	for (const specification of specifications) {
		const result = await vitest.runTestSpecifications([specification])
		// The result also contains the modules of earlier runs, with the failures of other mutants.
		const testModules = result.testModules.filter(({ moduleId }) => moduleId === specification.moduleId)
		const failed = testModules.flatMap((module) => [...module.children.allTests('failed')])
		const isOk = testModules.length > 0 && testModules.every((module) => module.ok())
		if (result.unhandledErrors.length === 0 && isOk) continue
		// A mutant may hang, but on a busy machine any test may take too long. Without a failed test, the watchdog has killed the process.
		const isTimeout = failed.every((test) => hasTimedOut(test))
		return isTimeout ? 'timeout' : 'killed'
	}
	return 'survived'
}

function hasTimedOut(test: TestCase): boolean {
	return (test.diagnostic()?.duration ?? 0) >= (test.options.timeout ?? TIMEOUT_MS)
}

function shuffle(list: readonly Mutant[]): readonly Mutant[] {
	let state = Number(values.seed)
	const random = () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
		return state / 2 ** 32
	}
	return list
		.map((mutant) => [random(), mutant] as const)
		.sort(([a], [b]) => a - b)
		.map(([, mutant]) => mutant)
}

function describe({ file, line, original, replacement }: Mutant): string {
	const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 80)
	return `${relative(ROOT, file)}:${line}: ${short(original)} -> ${replacement === '' ? 'removed' : short(replacement)}`
}
