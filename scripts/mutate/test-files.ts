/** The test files of a mutation run, each in a process of its own. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node'
import { ROOT } from '../tools.ts'
import type { Cost, Entry, ExploredTest, Job } from './job.ts'

/** Generous, because a busy machine may stop a process for seconds. Endless loops end by their steps. */
const TIMEOUT_MS = 60_000

/** A test file that has run without a mutant. */
export interface TestFile {
	readonly path: string
	/** Mutants that are reached during imports and outside of tests. */
	readonly outside: ReadonlySet<number>
	readonly tests: readonly ExploredTest[]
}

/** How a test file ended with a mutant. */
export type Verdict = 'killed' | 'timeout' | 'suspect'

export class TestFiles {
	readonly #vitest: Vitest
	readonly #folder: string
	readonly #specifications: ReadonlyMap<string, TestSpecification>

	private constructor(vitest: Vitest, folder: string, specifications: readonly TestSpecification[]) {
		this.#vitest = vitest
		this.#folder = folder
		this.#specifications = new Map(specifications.map((file) => [file.moduleId, file]))
	}

	/** `instrumented` holds the text of source files by their paths. */
	static async open(
		include: readonly string[],
		instrumented: ReadonlyMap<string, string>,
	): Promise<TestFiles> {
		const folder = mkdtempSync(join(tmpdir(), 'yaoki-mutate-'))
		process.env['MUTATE_FOLDER'] = folder
		const vitest = await openVitest(include, instrumented)
		return new TestFiles(vitest, folder, await vitest.globTestSpecifications())
	}

	get paths(): readonly string[] {
		return [...this.#specifications.keys()]
	}

	/** Runs the file without a mutant. Returns undefined if its process dies. */
	async explore(path: string): Promise<TestFile | undefined> {
		const entries = await this.#run(path, { type: 'explore' })
		const explored = entries.find((entry) => entry.type === 'explored')
		return explored && { path, outside: new Set(explored.outside), tests: explored.tests }
	}

	/** Runs the tests with their mutants, in as many processes as it takes. Calls `onVerdict` for each mutant that does not pass. */
	async repeat(
		{ path, tests }: TestFile,
		mutants: ReadonlyMap<string, Set<number>>,
		onVerdict: (mutant: number, verdict: Verdict) => void,
	): Promise<void> {
		while ([...mutants.values()].some((left) => left.size > 0)) {
			const lists = [...mutants].map(([test, left]) => [test, [...left]])
			const entries = await this.#run(path, {
				type: 'repeat',
				mutants: Object.fromEntries(lists),
				costs: listCosts(tests),
			})
			const settle = (mutant: number, verdict: Verdict) => {
				onVerdict(mutant, verdict)
				for (const left of mutants.values()) left.delete(mutant)
			}
			let last: number | undefined
			for (const entry of entries) {
				if (entry.type === 'run') {
					mutants.get(entry.test)?.delete(entry.mutant)
					last = entry.mutant
				} else if ('mutant' in entry) settle(entry.mutant, entry.type)
			}
			if (entries.at(-1)?.type === 'end') {
				if (entries.at(-2)?.type !== 'suspect') return
			} else if (last === undefined) throw new Error(`${path} ends before its first test`)
			else settle(last, 'timeout')
		}
	}

	/** Runs the file with a mutant that is active from the first import. Returns undefined if no test notices. */
	async alone(file: TestFile, mutant: number): Promise<'killed' | 'timeout' | undefined> {
		const skipped = file.tests.filter(({ passes }) => passes === 'never').map(({ id }) => id)
		const entries = await this.#run(file.path, {
			type: 'alone',
			mutant,
			skipped,
			costs: listCosts(file.tests),
		})
		for (const { type } of entries) if (type === 'killed' || type === 'timeout') return type
		return entries.at(-1)?.type === 'end' ? undefined : 'timeout'
	}

	async close(): Promise<void> {
		await this.#vitest.close()
		rmSync(this.#folder, { recursive: true, force: true })
	}

	async #run(path: string, job: Job): Promise<readonly Entry[]> {
		const specification = this.#specifications.get(path)
		if (!specification) throw new Error(`${path} is not a test file`)
		const report = join(this.#folder, 'report')
		rmSync(report, { force: true })
		writeFileSync(join(this.#folder, 'job'), JSON.stringify(job))
		// It throws if the watchdog kills the process. The report shows that too.
		await this.#vitest.runTestSpecifications([specification]).catch(() => undefined)
		if (!existsSync(report)) return []
		const lines = readFileSync(report, 'utf8').trim().split('\n')
		return lines.map((line): Entry => JSON.parse(line))
	}
}

const listCosts = (tests: readonly ExploredTest[]): Readonly<Record<string, Cost>> =>
	Object.fromEntries(tests.map(({ id, steps, cpuMs, ticks }) => [id, { steps, cpuMs, ticks }]))

function openVitest(include: readonly string[], instrumented: ReadonlyMap<string, string>): Promise<Vitest> {
	const source = (path: string) => join(ROOT, 'src', path)
	return createVitest(
		'test',
		{
			root: ROOT,
			config: false,
			watch: false,
			reporters: [{}],
			include: [...include],
			exclude: ['**/*.slow.test.ts'],
			testTimeout: TIMEOUT_MS,
			hookTimeout: TIMEOUT_MS,
			runner: join(ROOT, 'scripts/mutate/runner.ts'),
			execArgv: ['--expose-gc'],
			restoreMocks: true,
			unstubGlobals: true,
			// One mutant is active at a time.
			pool: 'forks',
			maxWorkers: 1,
			maxConcurrency: 1,
			// The cache on disk does not know of the mutants.
			fsModuleCache: false,
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
