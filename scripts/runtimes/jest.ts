/** Runs the suite in Jest, in its default configuration: in a project that only installed Jest and the package. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { ROOT, readJson } from '../tools.ts'
import { installIn, NODE_22, NODE_24, start } from './processes.ts'
import type { Outcome, Runtime, Site } from './runtime.ts'

const HOME = join(ROOT, 'test', 'jest')
const JEST = join(HOME, 'node_modules', 'jest')

export const inJest: readonly Runtime[] = [jestOn('Jest, Node 22', NODE_22), jestOn('Jest, Node 24', NODE_24)]

export const installJest = (): void => installIn(HOME)

/** The part of the report that is used. */
interface Report {
	readonly numPassedTests: number
	readonly testResults: readonly {
		readonly message: string
		readonly assertionResults: readonly {
			readonly status: string
			readonly title: string
			readonly failureMessages: readonly string[]
		}[]
	}[]
}

function jestOn(name: string, node: string): Runtime {
	return {
		name,
		async run(site) {
			const project = await createProject(site)
			const skippedFile = join(project, 'skipped.json')
			const env = { ...process.env, YAOKI_URLS: JSON.stringify(site.urls), YAOKI_SKIPPED: skippedFile }
			// The report alone is on standard output.
			const ended = await start(node, [join(JEST, 'bin', 'jest.js'), '--json'], project, { env })
			return {
				version: String(readJson(join(JEST, 'package.json'))['version']),
				...withSkipped(outcomeOf('Jest', ended.stdout, ended.report), skippedFile),
			}
		},
	}
}

/** Its modules are CommonJS, like those of most projects that use Jest. */
async function createProject({ home }: Site): Promise<string> {
	const project = join(home, 'jest')
	mkdirSync(project, { recursive: true })
	writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
	copyFileSync(join(home, 'jest.cjs'), join(project, 'package.test.js'))
	copyFileSync(join(home, 'required.cjs'), join(project, 'required.cjs'))
	const build = await rolldown({ input: join(home, 'suite.js'), external: /^yaoki/ })
	await build.write({ format: 'cjs', file: join(project, 'suite.js') })
	await build.close()
	return project
}

/** Reads the report of Jest, or the one of Vitest, which has the same form. Without a report, the run has failed. */
export function outcomeOf(runner: string, report: string, output: string): Outcome {
	if (!report.startsWith('{')) return { passed: 0, failed: [{ name: runner, error: output }], skipped: [] }
	const { numPassedTests, testResults }: Report = JSON.parse(report)
	const failed = testResults.flatMap(({ assertionResults, message }) =>
		assertionResults.length === 0
			? [{ name: runner, error: message }]
			: assertionResults
					.filter(({ status }) => status === 'failed')
					.map(({ title, failureMessages }) => ({ name: title, error: failureMessages.join('\n') })),
	)
	return { passed: numPassedTests, failed, skipped: [] }
}

/** The suite reports what it has skipped as passed, and its names in a file. */
function withSkipped(outcome: Outcome, file: string): Outcome {
	if (outcome.failed.length > 0) return outcome
	const skipped = JSON.parse(readFileSync(file, 'utf8')) as string[]
	return { ...outcome, passed: outcome.passed - skipped.length, skipped }
}
