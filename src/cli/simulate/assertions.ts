/**
 * Assertions for CI pipelines: `recoveredAfterMs<=5000`, or for one variant `full jitter: amplification<1.2`.
 * They compare one measure with a number; use `expectResilience` in a test for anything else. Every run must
 * pass: a policy that survives nine of ten seeds does not survive, so there is no assertion about means.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { MEASURE_NAMES, MEASURES, type Measure } from '../../sim/measure/measures.ts'
import type { StudyResult } from '../../sim/report/study-result.ts'
import {
	expectResilience,
	formatActual,
	NOT_REPRODUCED,
	type Operator,
	ResilienceError,
} from '../../sim/run/expect.ts'
import type { Study } from '../../sim/run/study.ts'
import { CliError } from '../errors.ts'
import { unknownName } from '../parse-arguments.ts'
import { policyOf } from './replay-ranges.ts'
import { checkVariantName } from './study-source.ts'

export type Assertion = ReturnType<typeof parseAssertion>
export type AssertionResult = ReturnType<typeof checkAssertion>

const PATTERN =
	/^(?<measure>\w+)\s*(?<comparison>[<>]=?)\s*(?<bound>(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)(?:\s*(?<percent>%))?$/i
const EXPECTED =
	"a measure, one of < <= > >=, and a number, such as 'recoveredAfterMs<=5000' or 'VARIANT: amplification<1.2'"

/** Parses one `--assert`. Its variant and measure must exist. Without a variant it applies to all. */
export function parseAssertion(text: string, study: Study) {
	const colon = text.lastIndexOf(':')
	const variant = colon < 0 ? undefined : text.slice(0, colon).trimEnd()
	const parts = PATTERN.exec(text.slice(colon + 1).trim())?.groups
	const { measure: name = '', comparison, bound, percent } = parts ?? {}
	if (!isComparison(comparison) || variant === '') throw new InvalidOptionError('--assert', text, EXPECTED)
	const measure = MEASURE_NAMES.find((known) => known === name)
	if (measure === undefined) throw unknownName('--assert', name, MEASURE_NAMES)
	if (variant !== undefined) checkVariantName('--assert', variant, study)
	const { unit }: Measure = MEASURES[measure]
	const value = Number(bound) / (percent === undefined ? 1 : 100)
	if (unit === '%' && value > 1)
		throw new InvalidOptionError('--assert', text, `a share from 0 to 1, or 0% to 100%, for ${measure}`)
	if (unit !== '%' && percent !== undefined) throw new InvalidOptionError('--assert', text, EXPECTED)
	return { text, variant, measure, comparison, bound: value }
}

const isComparison = (text: string | undefined): text is Operator =>
	text === '<' || text === '<=' || text === '>' || text === '>='

/**
 * Checks an assertion against every run of its variants, for an incident in all scenarios that its events
 * allow. `actual` is null for a run without the value; `recovery` is the reason. If the log is not
 * reproduced, every run fails: a run of another incident shows nothing.
 */
export function checkAssertion(assertion: Assertion, { cases }: StudyResult, isReproduced = true) {
	const { text, variant, measure, comparison, bound } = assertion
	const checked = cases.filter(
		({ case: { name } }) => variant === undefined || name === variant || policyOf(name) === variant,
	)
	const failures = checked.flatMap(({ case: { name, x, y }, runs }) =>
		runs.flatMap((run) => {
			try {
				expectResilience({ runs: [run], isReproduced }).measure(measure, comparison, bound)
				return []
			} catch (error) {
				if (!(error instanceof ResilienceError)) throw error
				const { actual, recovery, seed } = error
				const where = x === undefined ? name : `${name} at ${x}, ${y}`
				const got = isReproduced
					? `got ${formatActual(measure, actual, run)}`
					: `cannot be decided, because ${NOT_REPRODUCED}`
				const message = `${got} (${where}, seed ${seed})`
				return [{ variant: name, seed, actual, recovery, message }]
			}
		}),
	)
	const runs = checked.reduce((sum, one) => sum + one.runs.length, 0)
	return { assertion: text, holds: failures.length === 0, runs, failures }
}

const MAX_FAILURES_SHOWN = 3

/** Returns the error for all failed assertions, or undefined if all hold. */
export function assertionError(results: readonly AssertionResult[]): CliError | undefined {
	const failed = results.filter(({ holds }) => !holds)
	if (failed.length === 0) return undefined
	const lines = failed.flatMap(({ assertion, failures, runs }) => [
		`  ${assertion} failed in ${failures.length} of ${runs} runs:`,
		...failures.slice(0, MAX_FAILURES_SHOWN).map(({ message }) => `    ${message}`),
		...(failures.length > MAX_FAILURES_SHOWN ? [`    and ${failures.length - MAX_FAILURES_SHOWN} more`] : []),
	])
	const head = `${failed.length} of ${results.length} assertions failed`
	return new CliError('checkFailed', [head, ...lines].join('\n'))
}
