import { describe, expect, test } from 'vitest'
import { type TuneChange, type TuneOptions, tune } from 'yaoki/sim'
import { changeText, failureText, toDocument, toText } from '../../../../src/cli/simulate/tune/tune-output.ts'
import type { TuneConstraints } from '../../../../src/sim/tune/constraints.ts'
import { PLAIN } from '../../../../src/text/style.ts'
import { chain } from '../../../sim/tune/storm.ts'

const options: TuneOptions = { constraints: {}, replications: 2, maxSteps: 40 }

function outputOf(
	constraints: TuneConstraints,
	more: Partial<TuneOptions> = {},
	isInterrupted = false,
	policy = 'toDb',
) {
	const { replications = 2, maxSteps, ...given } = { ...options, ...more, constraints }
	return {
		title: 'chain',
		scenario: chain,
		incident: undefined,
		constraints,
		objective: 'goodShare' as const,
		replications,
		maxSteps,
		result: tune(policy, chain, { replications, maxSteps, ...given }),
		isInterrupted,
	}
}

const textOf = (...given: Parameters<typeof outputOf>) =>
	toText(outputOf(...given), { columns: 80, style: PLAIN })

describe('a change as a sentence', () => {
	const option: TuneChange = {
		path: 'a[0].retry.maxRetries',
		policy: 'a',
		layer: 0,
		kind: 'retry',
		option: 'maxRetries',
		from: 4,
		to: 2_000,
	}
	test.each<[string, Partial<TuneChange>]>([
		['  Set a[0].retry.maxRetries to 2_000 instead of 4.', {}],
		[
			'  Set a[0].retry.budget to { maxRetryRatio: 0.1 }.',
			{ path: 'a[0].retry.budget', from: undefined, to: { maxRetryRatio: 0.1 } },
		],
		['  Add timeoutMs to a, inside a[1]: 1_000.', { kind: 'timeoutMs', layer: 2, isAdded: true, to: 1_000 }],
		[
			'  Add adaptiveThrottle to a, outermost: with defaults.',
			{ kind: 'adaptiveThrottle', isAdded: true, to: {} },
		],
	])('%s', (expected, change) => {
		expect(changeText({ ...option, ...change })).toBe(expected)
	})
})

describe('the text', () => {
	test('the text has the best single change beside the smallest', () => {
		const output = outputOf({ amplification: { atMost: 1.2 } })
		const { bestSingle, changes } = output.result
		expect(bestSingle?.change.path).not.toBe(changes[0]?.path)
		const text = toText(output, { columns: 80, style: PLAIN })
		const change = bestSingle ? changeText(bestSingle.change) : ''
		expect(text).toContain(`The best single change, by goodShare:\n${change}\n`)
		expect(text).toMatch(/\nbest single /)
	})

	test('the text of a search without a result has the settings and values that were considered', () => {
		const text = textOf({ goodShare: { atLeast: 1 }, p99Ms: { below: 1 } })
		expect(text).toContain('Considered, alone and in pairs:\n')
		expect(text).toContain('\n  toDb[0].retry.maxRetries: 2, 1, 0, now 3\n')
	})

	test('the text of a policy that survives has the change, both tables rows and the TypeScript', () => {
		const text = textOf({ amplification: { atMost: 1 } })
		expect(text).toContain('Constraints for each of 2 runs: amplification<=1\n')
		expect(text).toContain(
			'The smallest change that satisfies all constraints:\n\n  Set toDb[0].retry.maxRetries to 0 instead of 3.\n',
		)
		expect(text).toMatch(/^before .*\nafter /m)
		expect(text).toContain("import { pipeline, retry, timeout } from 'yaoki'\n")
		expect(text).toContain('maxRetries: 0')
		expect(text).toMatch(/\n\n\d+ policies tried\.$/)
	})

	test('the text of a policy that needs no change has no TypeScript', () => {
		const text = textOf({ goodShare: { atLeast: 0.1 } })
		expect(text).toContain('The policies satisfy all constraints without a change.\n')
		expect(text).not.toContain('import')
		expect(text).not.toMatch(/^after /m)
	})

	test('the text of a search without a result has the nearest miss, and by how much', () => {
		const output = outputOf({ p99Ms: { atMost: 5 } }, { maxSteps: 3 })
		const text = toText(output, { columns: 80, style: PLAIN })
		expect(text).toContain('No policy satisfies all constraints.\n')
		expect(text).toMatch(
			/^Nearest miss: p99Ms is [\d.]+ instead of <=5, \d+ % above the limit \(seed \d\)\./m,
		)
		expect(text).toMatch(/^before .*(\nnearest .*)?$/m)
		expect(failureText(output)).toBe(
			'No policy satisfies all constraints: 3 tried, the limit of --max-steps.',
		)
		expect(failureText({ ...output, maxSteps: undefined })).toBe(
			'No policy satisfies all constraints: 3 tried.',
		)
	})

	test('says if no change comes closer than the policies as they are', () => {
		expect(textOf({ offeredPerSecond: { atLeast: 1e6 } }, { maxSteps: 1 }, false, 'toWeb')).toContain(
			'% below the limit (seed 2). No change comes closer than the policies as they are.',
		)
	})

	test('replaces control characters of names', () => {
		const output = outputOf({ amplification: { atMost: 1 } })
		const { result } = output
		const changes = result.changes.map((change) => ({ ...change, path: 'a\x1b[31m', policy: 'b\x1b[31m' }))
		const policies = { 'b\x1b[31m': result.policy }
		const text = toText(
			{ ...output, title: 'c\x1b[31m', result: { ...result, changes, policies } },
			{ columns: 80, style: PLAIN },
		)
		expect(text).not.toContain('\x1b')
		expect(text).toContain('Policy b\uFFFD[31m\n')
	})

	test('the text of a search that was interrupted says so', () => {
		expect(textOf({ p99Ms: { atMost: 5 } }, { maxSteps: 1 }, true)).toMatch(
			/No policy so far satisfies all constraints\.[\s\S]*\n\nInterrupted: the search is not complete\.$/,
		)
	})

	test('the text of the sensitivity has every measure of the strongest alternative, and names what is within noise', () => {
		const text = textOf({ amplification: { atMost: 1 } }, { sensitivity: true, replications: 4 })
		expect(text).toMatch(/^single change +to +amplification +good$/m)
		expect(text).toMatch(/^toDb\[0\]\.retry\.maxRetries +0 +-0\.\d+ ±0\.\d+ +\S+/m)
		expect(text).toMatch(/^Within noise: .*toDb\[0\]\.retry\.maxDelayMs/m)
	})

	test('the text of the sensitivity of a single run says that it is unknown', () => {
		const text = textOf({ amplification: { atMost: 1 } }, { sensitivity: true, replications: 1 })
		expect(text).toContain('Constraints for the run: ')
		expect(text).toContain('Unknown: a difference needs an interval, and so at least 2 replications.')
	})
})

test('the document has estimates instead of runs, and every step', () => {
	const output = outputOf({ p99Ms: { atMost: 5 } }, { maxSteps: 3, sensitivity: true })
	const document = JSON.parse(JSON.stringify(toDocument(output)))
	expect(document).toMatchObject({
		title: 'chain',
		constraints: { p99Ms: { atMost: 5 } },
		objective: 'goodShare',
		replications: 2,
		survives: false,
		changes: [],
		policies: { toDb: chain.policies?.['toDb'] },
		before: { measures: { goodShare: { count: 2 } }, neverRecoveredShare: expect.any(Number) },
		nearest: { violation: { measure: 'p99Ms' }, after: { measures: { p99Ms: { count: 2 } } } },
		typescript: { toDb: expect.stringContaining('pipeline(') },
	})
	expect(document.steps).toHaveLength(3)
	expect(document.sensitivity.length).toBeGreaterThan(3)
	expect(document.interrupted).toBeUndefined()
	expect(JSON.stringify(document)).not.toContain('timeline')
	expect(toDocument({ ...output, isInterrupted: true })).toMatchObject({ interrupted: { steps: 3 } })
})
