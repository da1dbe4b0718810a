import { describe, expect, test } from 'vitest'
import { type SimulationResult, simulate } from 'yaoki/sim'
import { type JobPlan, planJobs } from '../../../src/cli/simulate/job-plan.ts'
import { FailedRunError, type PoolResult, runAll } from '../../../src/cli/simulate/pool.ts'
import { loadStudy } from '../../../src/cli/simulate/study-source.ts'
import { CORE, endless, Folder, pair, small, smallWithout, withPolicy } from './files.ts'

const options = { seed: undefined, replications: 5, maxEvents: undefined }

async function planFor(file: string, replications = 5): Promise<JobPlan> {
	const request = { source: { kind: 'file', file }, variants: [] } as const
	return planJobs(await loadStudy(request), request, { ...options, replications })
}

interface PoolListeners {
	readonly signal?: AbortSignal
	onProgress?(done: number): void
	onOutput?(text: string): void
}

const run = (plan: JobPlan, threads: number, listeners: PoolListeners = {}): Promise<PoolResult> =>
	runAll(plan, {
		threads,
		signal: new AbortController().signal,
		onProgress: () => {},
		onOutput: () => {},
		...listeners,
	})

async function failureOf(code: string, threads = 1): Promise<FailedRunError> {
	const file = new Folder().write('mine.mjs', code)
	const error = await run(await planFor(file), threads).then(
		() => undefined,
		(thrown: unknown) => thrown,
	)
	if (!(error instanceof FailedRunError)) throw new Error(`expected a FailedRunError, got ${error}`)
	return error
}

describe('runAll', () => {
	test('returns the same results in the order of seeds for any number of threads', async () => {
		const plan = await planFor(new Folder().write('pair.json', pair))
		const expected = [small, smallWithout].map((scenario, index) =>
			[1, 2, 3, 4, 5].map((seed) => simulate({ ...scenario, name: ['retries', 'none'][index], seed })),
		)
		for (const threads of [1, 2]) {
			const found = await run(plan, threads)
			expect(found).toEqual({ runs: expected, ended: 10, partial: 0 })
			expect(JSON.stringify(found.runs)).toBe(JSON.stringify(expected))
		}
	})

	test('runs policies from functions of a module', async () => {
		const code = `import { retry } from '${CORE}'\n${withPolicy('() => retry({ maxRetries: 1, baseDelayMs: 10 })')}`
		const { runs } = await run(await planFor(new Folder().write('mine.ts', code), 1), 2)
		const policies = { careful: [{ retry: { maxRetries: 1, baseDelayMs: 10 } }] }
		expect(runs).toEqual([[simulate({ ...small, policies })]])
	})

	test('reports how many runs are done', async () => {
		const reported: number[] = []
		await run(await planFor(new Folder().write('pair.json', pair)), 2, {
			onProgress: (done) => reported.push(done),
		})
		expect(reported.at(-1)).toBe(10)
		expect(reported).toEqual(reported.toSorted((a, b) => a - b))
	})

	test('passes the output of user code to onOutput', async () => {
		const printed: string[] = []
		const code = withPolicy("() => { console.log('first'); console.error('second'); throw new Error('end') }")
		const plan = await planFor(new Folder().write('mine.mjs', code), 1)
		await expect(run(plan, 1, { onOutput: (text) => printed.push(text) })).rejects.toThrow('end')
		expect(printed.join('')).toBe('first\nsecond\n')
	})
})

describe('a failed run', () => {
	test.each([1, 2])('ends all %i threads with its error, case and seed', async (threads) => {
		const error = await failureOf(withPolicy("() => { throw new RangeError('no policy today') }"), threads)
		expect(error).toMatchObject({ message: 'no policy today', caseIndex: 0 })
		expect(error.stack).toContain('mine.mjs')
		expect(error.seeds).toHaveLength(1)
	})

	test('a failed run is reported instead of an earlier failure if it comes first by case and seed', async () => {
		const folder = new Folder()
		const mark = JSON.stringify(folder.at('second-failed'))
		// The first variant waits until the second fails, which needs two threads.
		const code = `import { existsSync, writeFileSync } from 'node:fs'
			const small = ${JSON.stringify(small)}
			const first = () => { while (!existsSync(${mark})); throw new Error('first') }
			const second = () => { writeFileSync(${mark}, ''); throw new Error('second') }
			const variants = { first: { ...small, policies: { careful: first } }, second: { ...small, policies: { careful: second } } }
			export default { title: 'a', description: 'b', variants }`
		const plan = await planFor(folder.write('mine.mjs', code), 1)
		await expect(run(plan, 2)).rejects.toMatchObject({ message: 'first', caseIndex: 0, seeds: [1] })
	})

	test('a failed run has the code of an invalid option if its function returns no policy', async () => {
		const error = await failureOf(withPolicy('() => 5'))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', seeds: [1] })
		expect(error.message).toBe(
			'Invalid option "policies.careful()": expected a function that returns a policy, got 5',
		)
	})

	test('a failed run that ends its thread does not leave the others waiting', async () => {
		const error = await failureOf(withPolicy('() => process.exit(7)'), 2)
		expect(error.message).toBe('the thread ended with exit code 7')
	})

	test('can be an unhandled rejection', async () => {
		const later = "() => { Promise.reject(new Error('later')); return new Promise(() => {}) }"
		const code = `import { retry } from '${CORE}'\nconst late = ${later}\n${withPolicy('() => { late(); return retry() }')}`
		expect((await failureOf(code)).message).toBe('later')
	})
})

describe('an interrupt', () => {
	test('an interrupt before the start starts no thread', async () => {
		const plan = await planFor(new Folder().write('pair.json', pair))
		const found = await run(plan, 2, { signal: AbortSignal.abort() })
		expect(found).toEqual({ runs: [[], []], ended: 0, partial: 0 })
	})

	test('returns ended runs, and incomplete runs of other cases', async () => {
		const study = { ...pair, variants: { quick: small, long: endless, later: small } }
		const stop = new AbortController()
		const plan = await planFor(new Folder().write('study.json', study), 1)
		const { runs, ...counts } = await run(plan, 1, {
			signal: stop.signal,
			onProgress: (done) => done > 1.1 && stop.abort(),
		})
		expect(counts).toEqual({ ended: 1, partial: 1 })
		expect(runs.map((list) => list.map(({ endedBy }) => endedBy))).toEqual([
			['duration'],
			['interrupted'],
			[],
		])
		expect(at(runs, 1).endedAtMs).toBeGreaterThan(10_000)
	})

	test('omits incomplete runs of a case with ended runs, because they would distort means', async () => {
		const stop = new AbortController()
		// The first seed ends soon, the second never.
		const code = `const endless = ${JSON.stringify(endless)}
			let hasOneEnded = false
			const until = ({ nowMs }) => nowMs > 5000 && !hasOneEnded && (hasOneEnded = true)
			export default { ...endless, until }`
		const plan = await planFor(new Folder().write('mine.mjs', code), 2)
		const { runs, ...counts } = await run(plan, 1, {
			signal: stop.signal,
			onProgress: (done) => done > 1.1 && stop.abort(),
		})
		expect(counts).toEqual({ ended: 1, partial: 0 })
		expect(at(runs, 0).endedBy).toBe('until')
		expect(runs[0]).toHaveLength(1)
	})
})

const at = (runs: readonly (readonly SimulationResult[])[], index: number): SimulationResult => {
	const [first] = runs[index] ?? []
	if (!first) throw new Error(`case ${index} has no run`)
	return first
}
