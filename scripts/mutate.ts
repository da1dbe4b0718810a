/**
 * `npm run mutate -- --only retry,lint --json results.json`: changes one operator, constant, condition or statement of the decisions in core at
 * a time, and runs the tests that reach it. A mutant that no test notices survives and is listed. Results of earlier runs in the JSON file
 * are kept, so that folders can run one by one. `--survivors limits.test` runs only the mutants that survived in the JSON file, with the
 * test files whose path contains this text. Stryker 10 needs the compiler API, which TypeScript 7 does not have.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { instrument, type Mutant } from './mutate/instrument.ts'
import type { ExploredTest } from './mutate/job.ts'
import { TARGETS, type Target } from './mutate/targets.ts'
import { type TestFile, TestFiles } from './mutate/test-files.ts'
import { ROOT } from './tools.ts'

interface Result {
	readonly mutants: number
	readonly killed: number
	readonly timedOut: readonly string[]
	readonly survived: readonly string[]
	readonly notReached: readonly string[]
}

const EXPENSIVE_MS = 50

const { values } = parseArgs({
	options: { only: { type: 'string' }, json: { type: 'string' }, survivors: { type: 'string' } },
})
const names = values.only?.split(',') ?? Object.keys(TARGETS)
const targets = names.map((name): readonly [string, Target] => {
	const target = TARGETS[name]
	if (!target) throw new Error(`Unknown folder "${name}". Use one of: ${Object.keys(TARGETS).join(', ')}`)
	return [name, target]
})

const mutants: Mutant[] = []
const sourcePath = (path: string) => join(ROOT, 'src', 'core', path)
const instrumented = new Map(
	targets
		.flatMap(([, { sources }]) => sources)
		.map((source) => {
			const path = sourcePath(source)
			return [path, instrument(path, readFileSync(path, 'utf8'), mutants)] as const
		}),
)
const testFolders = [...new Set(targets.flatMap(([, { tests }]) => tests))]
const testFiles = await TestFiles.open(
	testFolders.map((folder) => `test/core/${folder}/**/*.test.ts`),
	instrumented,
)
const explored = new Map<string, Promise<TestFile | undefined>>()
const results: Record<string, Result> =
	values.json && existsSync(values.json) ? JSON.parse(readFileSync(values.json, 'utf8')) : {}
try {
	for (const [name, target] of targets) {
		results[name] = await runTarget(name, target)
		if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, '\t')}\n`)
	}
} finally {
	await testFiles.close()
}
printResults()

async function runTarget(name: string, { sources, tests }: Target): Promise<Result> {
	const paths = sources.map(sourcePath)
	const all = mutants.filter(({ file }) => paths.includes(file))
	const before = values.survivors === undefined ? undefined : results[name]
	const own = all.filter(
		(mutant) => !before || [...before.survived, ...before.notReached].includes(describe(mutant)),
	)
	const files = await exploreAll(tests)
	const verdicts = new Map<number, 'killed' | 'timeout'>()
	/** Mutants that a process has to run from its start, by test file. */
	const suspects = new Map(files.map((file) => [file, new Set<number>()]))

	const runTests = async (file: TestFile, tests: readonly ExploredTest[]): Promise<void> => {
		const left = own.filter(({ id }) => !verdicts.has(id)).map(({ id }) => id)
		const lists = tests
			.filter(({ passes }) => passes === 'twice')
			.map(({ id, reached }) => [id, new Set(left.filter((mutant) => reached.includes(mutant)))] as const)
		await testFiles.repeat(file, new Map(lists), (mutant, verdict) => {
			if (verdict === 'suspect') suspects.get(file)?.add(mutant)
			else verdicts.set(mutant, verdict)
		})
		console.error(
			`${name}: ${verdicts.size} of ${own.length} mutants killed after ${relative(ROOT, file.path)}`,
		)
	}
	// Expensive tests, such as those of properties, run with the mutants that the others leave.
	for (const file of files)
		await runTests(
			file,
			file.tests.filter(({ cpuMs }) => cpuMs < EXPENSIVE_MS),
		)
	for (const file of files)
		await runTests(
			file,
			file.tests.filter(({ cpuMs }) => cpuMs >= EXPENSIVE_MS),
		)

	let runs = 0
	for (const { id } of own) {
		for (const file of files) {
			if (verdicts.has(id)) break
			const needsProcess =
				file.outside.has(id) ||
				suspects.get(file)?.has(id) ||
				file.tests.some(({ passes, reached }) => passes === 'once' && reached.includes(id))
			const verdict = needsProcess ? await testFiles.alone(file, id) : undefined
			if (verdict) verdicts.set(id, verdict)
			if (needsProcess && ++runs % 50 === 0)
				console.error(
					`${name}: ${runs} runs of a single mutant, ${verdicts.size} of ${own.length} mutants killed`,
				)
		}
	}

	const isReached = ({ id }: Mutant) =>
		files.some((file) => file.outside.has(id) || file.tests.some(({ reached }) => reached.includes(id)))
	const listWith = (verdict: string) => own.filter(({ id }) => verdicts.get(id) === verdict).map(describe)
	const alive = own.filter(({ id }) => !verdicts.has(id))
	const survived = alive.filter((mutant) => isReached(mutant) || before?.survived.includes(describe(mutant)))
	return {
		mutants: all.length,
		killed: (before?.killed ?? 0) + listWith('killed').length,
		timedOut: [...(before?.timedOut ?? []), ...listWith('timeout')],
		survived: survived.map(describe),
		notReached: alive.filter((mutant) => !survived.includes(mutant)).map(describe),
	}
}

/** Runs the test files of the folders without a mutant. A test that fails counts for nothing. */
async function exploreAll(folders: readonly string[]): Promise<readonly TestFile[]> {
	const files: TestFile[] = []
	for (const folder of folders) {
		const prefix = join('test', 'core', folder) + sep
		for (const path of testFiles.paths.filter((path) => isSelected(path, prefix))) {
			const known = explored.get(path) ?? testFiles.explore(path)
			explored.set(path, known)
			const file = await known
			if (file) files.push(file)
			else console.log(`Ignored, because it fails without a mutant: ${relative(ROOT, path)}`)
			for (const { name } of file?.tests.filter(({ passes }) => passes === 'never') ?? [])
				console.log(`Ignored, because it fails without a mutant: ${relative(ROOT, path)} > ${name}`)
		}
		console.error(`${folder}: ran the tests without a mutant`)
	}
	return files
}

function isSelected(path: string, prefix: string): boolean {
	return relative(ROOT, path).startsWith(prefix) && path.includes(values.survivors ?? '')
}

function printResults(): void {
	const rows = Object.entries(results)
	for (const [name, { timedOut, survived, notReached }] of rows) {
		if (!names.includes(name)) continue
		for (const mutant of timedOut) console.log(`timed out    ${mutant}`)
		for (const mutant of survived) console.log(`survived     ${mutant}`)
		for (const mutant of notReached) console.log(`not reached  ${mutant}`)
	}
	const sum = (pick: (result: Result) => number) =>
		rows.reduce((total, [, result]) => total + pick(result), 0)
	const columns: readonly (readonly [string, (result: Result) => number])[] = [
		['mutants', ({ mutants }) => mutants],
		['killed', ({ killed }) => killed],
		['timed out', ({ timedOut }) => timedOut.length],
		['survived', ({ survived }) => survived.length],
		['not reached', ({ notReached }) => notReached.length],
	]
	const score = (detected: number, all: number) => `${((100 * detected) / Math.max(1, all)).toFixed(1)} %`
	const lines = rows.map(([name, result]) => [
		name,
		...columns.map(([, pick]) => String(pick(result))),
		score(result.killed + result.timedOut.length, result.mutants),
	])
	const total = score(
		sum(({ killed, timedOut }) => killed + timedOut.length),
		sum(({ mutants }) => mutants),
	)
	const table = [
		['folder', ...columns.map(([title]) => title), 'score'],
		...lines,
		['all', ...columns.map(([, pick]) => String(sum(pick))), total],
	]
	for (const row of table)
		console.log(row.map((cell, index) => (index === 0 ? cell.padEnd(16) : cell.padStart(12))).join(''))
}

function describe({ file, line, column, original, replacement }: Mutant): string {
	const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 80)
	return `${relative(ROOT, file)}:${line}:${column}: ${short(original)} -> ${replacement === '' ? 'removed' : short(replacement)}`
}
