/** The options of `yaoki simulate`. */
import { MEASURE_NAMES } from '../../sim/measure/measures.ts'
import { TIMELINES } from '../../sim/report/study-json.ts'
import { CHART_NAMES } from '../../sim/run/study.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'

export const SIMULATE_OPTIONS = {
	list: flag('list the scenarios of the package', 'l'),
	out: text('FILE', 'write the result to a .svg, .html or .json file', { short: 'o', multiple: true }),
	assert: text(
		'CHECK',
		"fail with exit code 4 unless this holds in every run: 'p99Ms<500', 'VARIANT: amplification<1.2'",
		{ short: 'a', multiple: true },
	),
	chart: text('NAME', 'what is drawn over time: requests, work or responses', { choices: CHART_NAMES }),
	service: text('NAME', "show this service in its own panel; 'all' shows every service", { multiple: true }),
	timelines: text(
		'RUNS',
		'runs of each variant with a timeline in JSON: first, all or none; default: first',
		{ choices: TIMELINES },
	),
	variant: text('NAME', 'run only this variant', { multiple: true }),
	seed: text('SEED', 'seed of the first run, a number or a text', { short: 's' }),
	replications: integer('N', 'runs of each variant, each with the next seed', {
		short: 'n',
		min: 1,
		max: 1e6,
	}),
	maxEvents: integer('N', 'end a run after this many events', { min: 1 }),
	threads: integer('N', 'number of threads; default: number of cores', { min: 1, max: 512 }),
	tune: flag('search for the smallest change to the policies that satisfies every --assert', 't'),
	tunePolicy: text('NAME', 'with --tune: change this policy; default: all that are given as layers', {
		multiple: true,
	}),
	objective: text('MEASURE', 'with --tune: decides between changes of the same size; default: goodShare', {
		choices: MEASURE_NAMES,
	}),
	maxSteps: integer('N', 'with --tune: how many policies to try; default: 500', { min: 1, max: 1e6 }),
	sensitivity: flag('with --tune: also show which setting matters most'),
	incident: text('FILE', 'replay an incident from recorded events (JSON lines)', { short: 'i' }),
	policy: text('FILE', 'with --incident: the policy to try, .json, .js or .ts'),
	pipeline: text('NAME', 'with --incident: use the events of this pipeline'),
	fromPolicy: text('NAME', 'with --incident: use the events of this policy', { multiple: true }),
	workers: integer('N', 'with --incident: how many requests the service processes concurrently', { min: 1 }),
}

export const SIMULATE_POSITIONALS = {
	scenario: {
		placeholder: 'NAME|FILE',
		description: 'a scenario of the package, or a .json, .js or .ts file; default: list the scenarios',
		optional: true,
	},
} as const

export type SimulateArguments = Arguments<typeof SIMULATE_OPTIONS, typeof SIMULATE_POSITIONALS>
