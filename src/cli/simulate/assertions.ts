/**
 * What must be true of every run, for a pipeline that guards settings: `recoveredAfterMs<=5000`, or of one variant only,
 * `full jitter: amplification<1.2`. It is the language of the figures that a table shows and no more; whoever needs an
 * expression writes a test with `expectResilience`. A mean is not asked, since a policy that survives nine seeds of ten does not
 * survive.
 */
import { MEASURE_NAMES, MEASURES, type Measure, type MeasureName } from '../../sim/measure/measures.ts'
import type { StudyResult } from '../../sim/report/study-result.ts'
import { expectResilience, formatActual, type Operator, ResilienceError } from '../../sim/run/expect.ts'
import type { Study } from '../../sim/run/study.ts'
import { CliError } from '../errors.ts'
import { unknownName } from '../parse-arguments.ts'
import { checkName } from './variant-names.ts'

/** One line of what must hold. */
export interface Assertion {
	/** As it was typed. */
	readonly text: string
	/** The only variant that it is about; undefined is all of them. */
	readonly variant: string | undefined
	readonly measure: MeasureName
	readonly holds: Operator
	readonly bound: number
}

/** What came of an assertion. */
export interface Verdict {
	readonly assertion: string
	readonly holds: boolean
	/** How many runs it was held against. */
	readonly runs: number
	readonly failures: readonly AssertionFailure[]
}

interface AssertionFailure {
	readonly variant: string
	readonly seed: number | string
	/** Null is never, or that no fault came to its end. */
	readonly actual: number | null
	readonly told: string
}

const FORM =
	/^(?:(?<variant>.*\S)\s*:)?\s*(?<measure>\w+)\s*(?<holds>[<>]=?)\s*(?<bound>\d*\.?\d+(?:e[+-]?\d+)?)(?<percent>\s*%)?\s*$/is
const TAKES =
	"a figure, one of < <= > >=, and a number, such as 'recoveredAfterMs<=5000' or 'NAME: amplification<1.2'"

/** Reads one of `--assert`; what it names must be in the study. */
export function readAssertion(text: string, study: Study): Assertion {
	const { variant, measure: name = '', holds, bound, percent } = FORM.exec(text)?.groups ?? {}
	if (!isComparison(holds)) throw wrong(text, TAKES)
	const measure = MEASURE_NAMES.find((known) => known === name)
	if (measure === undefined) throw unknownName('--assert', name, MEASURE_NAMES)
	if (variant !== undefined) checkName('--assert', variant, study)
	const { unit }: Measure = MEASURES[measure]
	const value = Number(bound) / (percent === undefined ? 1 : 100)
	if (unit === '%' ? value > 1 : percent !== undefined)
		throw wrong(text, unit === '%' ? `a share from 0 to 1 for ${measure}, or 0% to 100%` : TAKES)
	return { text, variant, measure, holds, bound: value }
}

const isComparison = (text: string | undefined): text is Operator =>
	text === '<' || text === '<=' || text === '>' || text === '>='

const wrong = (text: string, takes: string): CliError =>
	new CliError('usage', `--assert: got '${text}'; takes ${takes}`)

/** Holds an assertion against every run that it is about. */
export function judge({ text, variant, measure, holds, bound }: Assertion, { cases }: StudyResult): Verdict {
	const asked = cases.filter(({ case: { name } }) => variant === undefined || name === variant)
	const failures = asked.flatMap(({ case: { name, x, y }, runs }) =>
		runs.flatMap((run) => {
			try {
				expectResilience(run).measure(measure, holds, bound)
				return []
			} catch (error) {
				if (!(error instanceof ResilienceError)) throw error
				const { actual, seed } = error
				const where = x === undefined ? name : `${name} at ${x}, ${y}`
				const told = `got ${formatActual(measure, actual, run)} (${where}, seed ${seed})`
				return [{ variant: name, seed, actual, told }]
			}
		}),
	)
	const runs = asked.reduce((sum, one) => sum + one.runs.length, 0)
	return { assertion: text, holds: failures.length === 0, runs, failures }
}

/** So many failures of one assertion are told; more do not help. */
const TOLD = 3

/** The error that tells of all assertions that did not hold, or undefined if all did. */
export function checkFailure(verdicts: readonly Verdict[]): CliError | undefined {
	const failed = verdicts.filter(({ holds }) => !holds)
	if (failed.length === 0) return undefined
	const lines = failed.flatMap(({ assertion, failures, runs }) => [
		`  ${assertion} does not hold in ${failures.length} of ${runs} runs:`,
		...failures.slice(0, TOLD).map(({ told }) => `    ${told}`),
		...(failures.length > TOLD ? [`    and ${failures.length - TOLD} more`] : []),
	])
	const head = `${failed.length} of ${verdicts.length} assertions failed`
	return new CliError('checkFailed', [head, ...lines].join('\n'))
}
