import { describe, expect, test } from 'vitest'
import { type SimulationResult, simulate } from 'yaoki/sim'
import { type Plan, planOf } from '../../../src/cli/simulate/plan.ts'
import { BrokenRun, type Harvest, harvest } from '../../../src/cli/simulate/pool.ts'
import { studyFrom } from '../../../src/cli/simulate/source.ts'
import { CORE, endless, Folder, pair, small, smallWithout, withPolicy } from './files.ts'

const wishes = { seed: undefined, replications: 5, maxEvents: undefined }

async function plan(file: string, replications = 5): Promise<Plan> {
	const question = { source: { kind: 'file', file }, variants: [] } as const
	return planOf(await studyFrom(question), question, { ...wishes, replications })
}

interface Watch {
	readonly signal?: AbortSignal
	progress?(done: number): void
	printed?(text: string): void
}

const run = (what: Plan, threads: number, watch: Watch = {}): Promise<Harvest> =>
	harvest(what, {
		threads,
		signal: new AbortController().signal,
		progress: () => {},
		printed: () => {},
		...watch,
	})

async function breaking(code: string, threads = 1): Promise<BrokenRun> {
	const file = new Folder().write('mine.mjs', code)
	const error = await run(await plan(file), threads).then(
		() => undefined,
		(thrown: unknown) => thrown,
	)
	if (!(error instanceof BrokenRun)) throw new Error(`it should have broken, but: ${error}`)
	return error
}

describe('threads', () => {
	test('find what one run after the other finds, in the order of seeds, however many they are', async () => {
		const what = await plan(new Folder().write('pair.json', pair))
		const expected = [small, smallWithout].map((scenario, index) =>
			[1, 2, 3, 4, 5].map((seed) => simulate({ ...scenario, name: ['retries', 'none'][index], seed })),
		)
		for (const threads of [1, 2]) {
			const found = await run(what, threads)
			expect(found).toEqual({ runs: expected, ended: 10, partial: 0 })
			expect(JSON.stringify(found.runs)).toBe(JSON.stringify(expected))
		}
	})

	test('run the policies that functions of a module make', async () => {
		const code = `import { retry } from '${CORE}'\n${withPolicy('() => retry({ maxRetries: 1, baseDelayMs: 10 })')}`
		const { runs } = await run(await plan(new Folder().write('mine.ts', code), 1), 2)
		const policies = { careful: [{ retry: { maxRetries: 1, baseDelayMs: 10 } }] }
		expect(runs).toEqual([[simulate({ ...small, policies })]])
	})

	test('tell how many runs are done', async () => {
		const told: number[] = []
		await run(await plan(new Folder().write('pair.json', pair)), 2, { progress: (done) => told.push(done) })
		expect(told.at(-1)).toBe(10)
		expect(told).toEqual(told.toSorted((a, b) => a - b))
	})

	test('do not print among the data what a function of the user prints', async () => {
		const printed: string[] = []
		const code = withPolicy("() => { console.log('made'); console.error('twice'); throw new Error('end') }")
		const what = await plan(new Folder().write('mine.mjs', code), 1)
		await expect(run(what, 1, { printed: (text) => printed.push(text) })).rejects.toThrow('end')
		expect(printed.join('')).toBe('made\ntwice\n')
	})
})

describe('a run that breaks', () => {
	test.each([1, 2])('ends all %i threads with its error, its case and its seed', async (threads) => {
		const error = await breaking(withPolicy("() => { throw new RangeError('no policy today') }"), threads)
		expect(error).toMatchObject({ message: 'no policy today', index: 0 })
		expect(error.stack).toContain('mine.mjs')
		expect(error.seeds).toHaveLength(1)
	})

	test('after another has broken is told in its place if it comes first by case and seed', async () => {
		const folder = new Folder()
		const mark = JSON.stringify(folder.at('second-broke'))
		// The first variant waits until the second one is about to break, which takes two threads.
		const code = `import { existsSync, writeFileSync } from 'node:fs'
			const small = ${JSON.stringify(small)}
			const first = () => { while (!existsSync(${mark})); throw new Error('first') }
			const second = () => { writeFileSync(${mark}, ''); throw new Error('second') }
			const variants = { first: { ...small, policies: { careful: first } }, second: { ...small, policies: { careful: second } } }
			export default { title: 'a', description: 'b', variants }`
		const what = await plan(folder.write('mine.mjs', code), 1)
		await expect(run(what, 2)).rejects.toMatchObject({ message: 'first', index: 0, seeds: [1] })
	})

	test('because its function makes no policy is a mistake in the file', async () => {
		const error = await breaking(withPolicy('() => 5'))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', seeds: [1] })
		expect(error.message).toBe(
			'Invalid option "policies.careful()": expected a function that returns a policy, got 5',
		)
	})

	test('because it ends its thread does not leave the others waiting', async () => {
		const error = await breaking(withPolicy('() => process.exit(7)'), 2)
		expect(error.message).toBe('its thread ended with exit code 7')
	})

	test('because of a promise that nobody awaits is told as well', async () => {
		const later = "() => { Promise.reject(new Error('later')); return new Promise(() => {}) }"
		const code = `import { retry } from '${CORE}'\nconst late = ${later}\n${withPolicy('() => { late(); return retry() }')}`
		expect((await breaking(code)).message).toBe('later')
	})
})

describe('an interrupt', () => {
	test('before anything has begun starts no thread', async () => {
		const what = await plan(new Folder().write('pair.json', pair))
		const found = await run(what, 2, { signal: AbortSignal.abort() })
		expect(found).toEqual({ runs: [[], []], ended: 0, partial: 0 })
	})

	test('gives the runs that have ended, and of others how far they came', async () => {
		const study = { ...pair, variants: { quick: small, long: endless, later: small } }
		const stop = new AbortController()
		const what = await plan(new Folder().write('study.json', study), 1)
		const { runs, ...counts } = await run(what, 1, {
			signal: stop.signal,
			progress: (done) => done > 1.1 && stop.abort(),
		})
		expect(counts).toEqual({ ended: 1, partial: 1 })
		expect(runs.map((list) => list.map(({ endedBy }) => endedBy))).toEqual([
			['duration'],
			['interrupted'],
			[],
		])
		expect(at(runs, 1).endedAtMs).toBeGreaterThan(10_000)
	})

	test('leaves out how far one came where others of its kind have ended, for means would be false', async () => {
		const stop = new AbortController()
		// The first seed is over soon; the second never is.
		const code = `const endless = ${JSON.stringify(endless)}
			let isOneOver = false
			const until = ({ nowMs }) => nowMs > 5000 && !isOneOver && (isOneOver = true)
			export default { ...endless, until }`
		const what = await plan(new Folder().write('mine.mjs', code), 2)
		const { runs, ...counts } = await run(what, 1, {
			signal: stop.signal,
			progress: (done) => done > 1.1 && stop.abort(),
		})
		expect(counts).toEqual({ ended: 1, partial: 0 })
		expect(at(runs, 0).endedBy).toBe('until')
		expect(runs[0]).toHaveLength(1)
	})
})

const at = (runs: readonly (readonly SimulationResult[])[], index: number): SimulationResult => {
	const [first] = runs[index] ?? []
	if (!first) throw new Error(`there is no run of case ${index}`)
	return first
}
