import { describe, expect, test } from 'vitest'
import { expectResilience, type Study } from 'yaoki/sim'
import { runStudy } from 'yaoki/sim/report'
import { CliError } from '../../../src/cli/errors.ts'
import { checkFailure, judge, readAssertion } from '../../../src/cli/simulate/assertions.ts'
import { pair, small } from './files.ts'

const study: Study = { ...pair, variants: { 'C: full jitter': small, none: pair.variants.none } }
const outcome = runStudy(study, { replications: 2 })

describe('an assertion', () => {
	test.each([
		['recoveredAfterMs<=5000', undefined, 'recoveredAfterMs', '<=', 5000],
		['amplification < 1.2', undefined, 'amplification', '<', 1.2],
		['none: goodShare>0.9', 'none', 'goodShare', '>', 0.9],
		['C: full jitter: p99Ms >= .5e3', 'C: full jitter', 'p99Ms', '>=', 500],
		['C: full jitter : goodShare >= 99.5 %', 'C: full jitter', 'goodShare', '>=', 0.995],
	])('%s is understood', (text, variant, measure, holds, bound) => {
		expect(readAssertion(text, study)).toEqual({ text, variant, measure, holds, bound })
	})

	test.each([
		['amplification', "takes a figure, one of < <= > >=, and a number, such as 'recoveredAfterMs<=5000'"],
		['amplification=1', 'takes a figure, one of'],
		['amplification<', 'takes a figure, one of'],
		['amplification<much', 'takes a figure, one of'],
		['', 'takes a figure, one of'],
		['1<amplification', 'takes a figure, one of'],
		['recoverdAfterMs<5', 'Unknown value "recoverdAfterMs" for --assert. Did you mean "recoveredAfterMs"? '],
		['speed<5', 'Valid values: goodShare, goodputPerSecond, '],
		['toString<5', 'Valid values: goodShare'],
		['goodShare>95', 'takes a share from 0 to 1 for goodShare, or 0% to 100%'],
		['p99Ms<50%', 'takes a figure, one of'],
	])('%j is refused with what it takes', (text, told) => {
		expect(() => readAssertion(text, study)).toThrow(
			expect.objectContaining({ kind: 'usage', message: expect.stringContaining('--assert') }),
		)
		expect(() => readAssertion(text, study)).toThrow(told)
	})

	test('about a variant that is not there names those that are', () => {
		expect(() => readAssertion('non: goodShare>0.5', study)).toThrow(
			'Unknown value "non" for --assert. Did you mean "none"? Valid values: C: full jitter, none.',
		)
	})

	test('is held against every run of every variant, or of one', () => {
		const all = judge(readAssertion('amplification<1.01', study), outcome)
		expect(all).toMatchObject({ assertion: 'amplification<1.01', holds: false, runs: 4 })
		expect(all.failures.map(({ variant, seed }) => [variant, seed])).toEqual([
			['C: full jitter', 1],
			['C: full jitter', 2],
		])
		expect(judge(readAssertion('none: amplification<1.01', study), outcome)).toMatchObject({
			holds: true,
			runs: 2,
			failures: [],
		})
	})

	test('tells the figure that was found, by the measure itself', () => {
		const { failures } = judge(readAssertion('C: full jitter: amplification<1', study), outcome)
		const [first] = outcome.cases[0]?.runs ?? []
		expect(failures[0]).toMatchObject({ actual: first?.totals.amplification })
		expect(failures[0]?.told).toMatch(/^got 1\.\d{1,5} \(C: full jitter, seed 1\)$/)
	})

	test('tells a recovery that never came from one that nothing asked for', () => {
		const judged = (scenario: typeof small) => {
			const one = { ...pair, variants: { only: scenario } }
			return judge(readAssertion('recoveredAfterMs<=5', one), runStudy(one, { replications: 1 })).failures[0]
				?.told
		}
		const afterDeadLetter = { ...small, duration: 900 }
		expect(judged(afterDeadLetter)).toBe('got never (only, seed 1)')
		const vain = 'got no fault that ended during the run (only, seed 1)'
		expect(judged({ ...small, services: { api: { serviceTime: 20 } } })).toBe(vain)
		expect(judged({ ...small, duration: 700 })).toBe(vain)
	})

	test.each([small, { ...small, duration: 700 }, { ...small, duration: 900 }, { ...small, maxEvents: 50 }])(
		'tells a figure in the words of expectResilience (%#)',
		(scenario) => {
			const one = { ...pair, variants: { only: scenario } }
			const found = runStudy(one, { replications: 1 })
			const run = found.cases[0]?.runs[0]
			if (!run) expect.unreachable('there is one')
			for (const [text, check] of [
				['recoveredAfterMs<=0', () => expectResilience(run).measure('recoveredAfterMs', '<=', 0)],
				['p99Ms<0', () => expectResilience(run).measure('p99Ms', '<', 0)],
			] as const) {
				const told = judge(readAssertion(text, one), found).failures[0]?.told.replace('only, ', '')
				expect(told).toMatch(/^got /)
				expect(check).toThrow(`, ${told}`)
			}
		},
	)

	test('of a run without faults is about the figure that was asked for', () => {
		const calm = { ...small, services: { api: { serviceTime: 1000 } } }
		const one = { ...pair, variants: { only: calm } }
		const verdict = judge(readAssertion('p99Ms<=5', one), runStudy(one, { replications: 1 }))
		expect(verdict.failures[0]?.told).not.toContain('fault')
	})

	test('on a map says which cell did not hold', () => {
		const grid: Study = {
			...{ title: 'map', description: '', panels: ['a'], at: () => small },
			...{ x: { label: '', values: [1, 2] }, y: { label: '', values: [9] } },
		}
		const { failures } = judge(readAssertion('a: requests<1', grid), runStudy(grid, { replications: 1 }))
		expect(failures.map(({ told }) => told)).toEqual([
			expect.stringContaining('(a at 1, 9, seed 1)'),
			expect.stringContaining('(a at 2, 9, seed 1)'),
		])
	})
})

describe('assertions together', () => {
	const verdict = (text: string) => judge(readAssertion(text, study), outcome)

	test('are no failure when all hold', () => {
		expect(checkFailure([verdict('goodShare>0'), verdict('requests>1')])).toBeUndefined()
		expect(checkFailure([])).toBeUndefined()
	})

	test('are one that names each that does not, with figures and seeds', () => {
		const failure = checkFailure([verdict('goodShare>0'), verdict('requests<1'), verdict('none: retries>5')])
		expect(failure).toBeInstanceOf(CliError)
		expect(failure?.kind).toBe('checkFailed')
		expect(failure?.message.split('\n')).toEqual([
			'2 of 3 assertions failed',
			'  requests<1 does not hold in 4 of 4 runs:',
			expect.stringMatching(/^ {4}got \d+ \(C: full jitter, seed 1\)$/),
			expect.stringMatching(/^ {4}got \d+ \(C: full jitter, seed 2\)$/),
			expect.stringMatching(/^ {4}got \d+ \(none, seed 1\)$/),
			'    and 1 more',
			'  none: retries>5 does not hold in 2 of 2 runs:',
			'    got 0 (none, seed 1)',
			'    got 0 (none, seed 2)',
		])
	})
})
