import { describe, expect, test } from 'vitest'
import { expectResilience, type Study } from 'yaoki/sim'
import { runStudy } from 'yaoki/sim/report'
import { CliError } from '../../../src/cli/errors.ts'
import { assertionError, checkAssertion, parseAssertion } from '../../../src/cli/simulate/assertions.ts'
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
	])('%s is parsed', (text, variant, measure, comparison, bound) => {
		expect(parseAssertion(text, study)).toEqual({ text, variant, measure, comparison, bound })
	})

	test.each([
		['amplification', "expected a measure, one of < <= > >=, and a number, such as 'recoveredAfterMs<=5000'"],
		['amplification=1', 'expected a measure, one of'],
		['amplification<', 'expected a measure, one of'],
		['amplification<much', 'expected a measure, one of'],
		['', 'expected a measure, one of'],
		['1<amplification', 'expected a measure, one of'],
		['recoverdAfterMs<5', 'Unknown value "recoverdAfterMs" for --assert. Did you mean "recoveredAfterMs"? '],
		['speed<5', 'Valid values: goodShare, worstGoodShare, goodputPerSecond, '],
		['toString<5', 'Valid values: goodShare'],
		['goodShare>95', 'expected a share from 0 to 1, or 0% to 100%, for goodShare'],
		['p99Ms<50%', 'expected a measure, one of'],
	])('%j is rejected', (text, message) => {
		expect(() => parseAssertion(text, study)).toThrow(
			expect.objectContaining({ message: expect.stringContaining('--assert') }),
		)
		expect(() => parseAssertion(text, study)).toThrow(message)
	})

	test('an assertion with an unknown variant is rejected with the valid names', () => {
		expect(() => parseAssertion('non: goodShare>0.5', study)).toThrow(
			'Unknown value "non" for --assert. Did you mean "none"? Valid values: C: full jitter, none.',
		)
	})

	test('an assertion is checked in every run of every variant, or of one variant', () => {
		const all = checkAssertion(parseAssertion('amplification<1.01', study), outcome)
		expect(all).toMatchObject({ assertion: 'amplification<1.01', holds: false, runs: 4 })
		expect(all.failures.map(({ variant, seed }) => [variant, seed])).toEqual([
			['C: full jitter', 1],
			['C: full jitter', 2],
		])
		expect(checkAssertion(parseAssertion('none: amplification<1.01', study), outcome)).toMatchObject({
			holds: true,
			runs: 2,
			failures: [],
		})
	})

	test('reports the value of the measure', () => {
		const { failures } = checkAssertion(parseAssertion('C: full jitter: amplification<1', study), outcome)
		const [first] = outcome.cases[0]?.runs ?? []
		expect(failures[0]).toMatchObject({ actual: first?.totals.amplification })
		expect(failures[0]?.message).toMatch(/^got 1\.\d{1,5} \(C: full jitter, seed 1\)$/)
	})

	test('distinguishes a missing recovery from a run in which no fault ended', () => {
		const failureOf = (scenario: typeof small) => {
			const one = { ...pair, variants: { only: scenario } }
			return checkAssertion(parseAssertion('recoveredAfterMs<=5', one), runStudy(one, { replications: 1 }))
				.failures[0]?.message
		}
		const short = { ...small, durationMs: 900 }
		expect(failureOf(short)).toBe(
			'got not shown, because the run ended too soon, 100 ms after the fault (only, seed 1)',
		)
		const noFault = 'got no fault that ended during the run (only, seed 1)'
		expect(failureOf({ ...small, services: { api: { serviceTimeMs: 20 } } })).toBe(noFault)
		expect(failureOf({ ...small, durationMs: 700 })).toBe(noFault)
	})

	test.each([
		small,
		{ ...small, durationMs: 700 },
		{ ...small, durationMs: 900 },
		{ ...small, maxEvents: 50 },
	])('reports a value in the same words as expectResilience (%#)', (scenario) => {
		const one = { ...pair, variants: { only: scenario } }
		const found = runStudy(one, { replications: 1 })
		const run = found.cases[0]?.runs[0]
		if (!run) expect.unreachable('the study has a run')
		for (const [text, check] of [
			['recoveredAfterMs<=0', () => expectResilience(run).measure('recoveredAfterMs', '<=', 0)],
			['p99Ms<0', () => expectResilience(run).measure('p99Ms', '<', 0)],
		] as const) {
			const message = checkAssertion(parseAssertion(text, one), found).failures[0]?.message.replace(
				'only, ',
				'',
			)
			expect(message).toMatch(/^got /)
			expect(check).toThrow(`, ${message}`)
		}
	})

	test('about another measure does not mention faults in a run without faults', () => {
		const calm = { ...small, services: { api: { serviceTimeMs: 1000 } } }
		const one = { ...pair, variants: { only: calm } }
		const checked = checkAssertion(parseAssertion('p99Ms<=5', one), runStudy(one, { replications: 1 }))
		expect(checked.failures[0]?.message).not.toContain('fault')
	})

	test('about a grid reports the cell that failed', () => {
		const grid: Study = {
			title: 'map',
			description: '',
			panels: ['a'],
			at: () => small,
			x: { label: '', values: [1, 2] },
			y: { label: '', values: [9] },
		}
		const { failures } = checkAssertion(
			parseAssertion('a: requests<1', grid),
			runStudy(grid, { replications: 1 }),
		)
		expect(failures.map(({ message }) => message)).toEqual([
			expect.stringContaining('(a at 1, 9, seed 1)'),
			expect.stringContaining('(a at 2, 9, seed 1)'),
		])
	})
})

describe('assertionError', () => {
	const check = (text: string) => checkAssertion(parseAssertion(text, study), outcome)

	test('returns undefined if all assertions hold', () => {
		expect(assertionError([check('goodShare>0'), check('requests>1')])).toBeUndefined()
		expect(assertionError([])).toBeUndefined()
	})

	test('lists each failed assertion with values and seeds', () => {
		const failure = assertionError([check('goodShare>0'), check('requests<1'), check('none: retries>5')])
		expect(failure).toBeInstanceOf(CliError)
		expect(failure?.kind).toBe('checkFailed')
		expect(failure?.message.split('\n')).toEqual([
			'2 of 3 assertions failed',
			'  requests<1 failed in 4 of 4 runs:',
			expect.stringMatching(/^ {4}got \d+ \(C: full jitter, seed 1\)$/),
			expect.stringMatching(/^ {4}got \d+ \(C: full jitter, seed 2\)$/),
			expect.stringMatching(/^ {4}got \d+ \(none, seed 1\)$/),
			'    and 1 more',
			'  none: retries>5 failed in 2 of 2 runs:',
			'    got 0 (none, seed 1)',
			'    got 0 (none, seed 2)',
		])
	})
})
