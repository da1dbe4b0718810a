/**
 * What a user's file says is a study, or a mistake that is told by its place in the file: `mine.json: variants.careful.
 * services.api.workers: got -1; takes ...`. Scenarios that are all data are built here once, before anything runs, so that a
 * mistake in the last variant does not come to light after minutes; those with functions of the user only in a worker, where
 * a function that never returns can be interrupted.
 */
import { basename, extname } from 'node:path'
import { invalidOption } from '../../core/options/schema.ts'
import { hasFunction } from '../../sim/kernel/suppress-stacks.ts'
import { MEASURE_NAMES } from '../../sim/measure/measures.ts'
import { Simulation } from '../../sim/run/simulation.ts'
import { isGrid, listCases, type Study, type StudyCase, toStudy } from '../../sim/run/study.ts'
import { checkScenario } from '../../sim/scenario/check.ts'
import type { Scenario } from '../../sim/scenario/scenario.ts'
import { amount, count, fields, list, named, oneOf, type Shape, text } from '../../sim/scenario/shape.ts'
import { toldOf } from './told.ts'

const measure = oneOf(...MEASURE_NAMES)

const ofType =
	(type: 'string' | 'function' | 'object', takes: string): Shape =>
	(value, path) => {
		if (typeof value !== type || value === null) invalidOption(path, value, takes)
	}

const base = {
	title: text,
	'description?': ofType('string', 'a text'),
	'replications?': count(1, 1e6),
	'measures?': list(measure, 1),
}

const number: Shape = (value, path) => {
	if (!Number.isFinite(value)) invalidOption(path, value, 'a number')
}

const figure = fields({ mean: number, sd: amount(), count: count(1) })

const byMeasure: Shape = (value, path) => {
	named(figure)(value, path)
	for (const name of Object.keys(value as object)) measure(name, `${path}.${name}`)
}

const variantStudy = fields({
	...base,
	variants: (value, path) => {
		named(ofType('object', 'a scenario'))(value, path)
		if (Object.keys(value as object).length === 0)
			invalidOption(path, '{}', 'at least one scenario, by its name')
	},
	'reference?': named(byMeasure),
	'chart?': oneOf('requests', 'work', 'responses'),
	'curves?': fields({
		xLabel: text,
		measures: list(measure, 1),
		points: named(fields({ curve: text, x: number })),
	}),
})

const axis = fields({ label: text, values: list(number, 1), 'format?': ofType('function', 'a function') })

const gridStudy = fields({
	...base,
	x: axis,
	y: axis,
	panels: list(text, 1),
	at: ofType('function', 'a function of x, y and the panel that gives a scenario'),
	'cell?': oneOf('recovered', 'goodShare', 'wastedShare'),
})

/** The study that a file gives, after a look at all of it. A single scenario is a study of one. */
export function checkedStudy(given: unknown, file: string): Study {
	return toldOf(file, '', () => {
		checkShape(given)
		const study = toStudy(given, basename(file, extname(file)))
		for (const one of listCases(study)) toldOf(file, placeOf(study, one, given), () => checkCase(one))
		return study
	})
}

function checkShape(given: unknown): asserts given is Scenario | Study {
	if (typeof given !== 'object' || given === null || Array.isArray(given))
		invalidOption('the default export or the whole file', given, 'a scenario or a study, as an object')
	if ('variants' in given) variantStudy(given, '')
	else if ('panels' in given) gridStudy(given, '')
	else checkScenario(given as Scenario)
}

function checkCase({ scenario }: StudyCase): void {
	if (hasFunction(scenario)) checkScenario(scenario)
	else new Simulation(scenario)
}

/** Where a case stands in its file, as the beginning of a path. */
function placeOf(study: Study, { name, x, y }: StudyCase, given: Scenario | Study): string {
	if (isGrid(study)) return `at(${x}, ${y}, '${name}').`
	return study === given ? `variants.${name}.` : ''
}
