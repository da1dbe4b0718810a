/**
 * Checks the content of a user's file and names the path of an invalid value:
 * `Invalid option "variants.fast.services.api.workers"`. Scenarios without functions are built once before
 * anything runs, so that a mistake in the last variant is not reported after minutes. Scenarios with
 * functions are built in a worker, where a function that never returns can be interrupted.
 */
import { basename, extname } from 'node:path'
import { invalidOption } from '../../core/options/schema.ts'
import { hasFunction } from '../../sim/kernel/suppress-stacks.ts'
import { MEASURE_NAMES } from '../../sim/measure/measures.ts'
import { CHART_FIELDS, withChartOptions } from '../../sim/report/chart-subject.ts'
import { Simulation } from '../../sim/run/simulation.ts'
import { isGrid, listCases, type Study, type StudyCase, toStudy } from '../../sim/run/study.ts'
import { checkScenario } from '../../sim/scenario/check.ts'
import type { Scenario } from '../../sim/scenario/scenario.ts'
import {
	amount,
	callback,
	count,
	fields,
	list,
	named,
	ofType,
	oneOf,
	type Shape,
	text,
} from '../../sim/scenario/shape.ts'
import { usageError } from '../errors.ts'
import { withFileContext } from '../user-modules.ts'

const measure = oneOf(...MEASURE_NAMES)

const base = {
	title: text,
	'description?': ofType('string', 'a text'),
	'replications?': count(1, 1e6),
	'measures?': list(measure, 1),
}

const number: Shape = (value, path) => {
	if (!Number.isFinite(value)) invalidOption(path, value, 'a number')
}

const estimate = fields({ mean: number, sd: amount(), count: count(1) })

const byMeasure: Shape = (value, path) => {
	named(estimate)(value, path)
	for (const name of Object.keys(value as object)) measure(name, `${path}.${name}`)
}

const variantStudy = fields({
	...base,
	variants: (value, path) => {
		named(ofType('object', 'a scenario'))(value, path)
		if (Object.keys(value as object).length === 0) invalidOption(path, '{}', 'at least one scenario by name')
	},
	'reference?': named(byMeasure),
	...CHART_FIELDS,
	'curves?': fields({
		xLabel: text,
		measures: list(measure, 1),
		points: named(fields({ curve: text, x: number })),
	}),
})

const axis = fields({ label: text, values: list(number, 1), 'format?': callback })

const gridStudy = fields({
	...base,
	x: axis,
	y: axis,
	panels: list(text, 1),
	at: ofType('function', 'a function of x, y and panel that returns a scenario'),
	'cell?': oneOf('recovered', 'goodShare', 'wastedShare'),
})

/** Returns the study in a file. A single scenario becomes a study with one variant. */
export function checkStudy(given: unknown, file: string): Study {
	if (typeof given !== 'object' || given === null || Array.isArray(given))
		throw usageError(`${file} must contain a scenario or a study, as an object.`)
	return withFileContext(file, '', () => {
		checkShape(given)
		const study = toStudy(given, basename(file, extname(file)))
		for (const one of listCases(study))
			withFileContext(file, casePath(study, one, given), () => checkCase(one))
		return withChartOptions(study, {})
	})
}

function checkShape(given: object): asserts given is Scenario | Study {
	if ('variants' in given) variantStudy(given, '')
	else if ('panels' in given) gridStudy(given, '')
	else checkScenario(given as Scenario)
}

function checkCase({ scenario }: StudyCase): void {
	if (hasFunction(scenario)) checkScenario(scenario)
	else new Simulation(scenario)
}

function casePath(study: Study, { name, x, y }: StudyCase, given: Scenario | Study): string {
	if (isGrid(study)) return `at(${x}, ${y}, '${name}')`
	return study === given ? `variants.${name}` : ''
}
