/**
 * Where a study comes from, as data that can be posted to a worker thread. Functions cannot be posted and
 * scenarios can contain them, so each thread loads the study itself. An incident is the exception: it is
 * plain data, and its log is read only once.
 */
import { sep } from 'node:path'
import { isGrid, type Study } from '../../sim/run/study.ts'
import { scenarios } from '../../sim/scenarios/catalog.ts'
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { formatPairs } from '../../text/table.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { unknownName } from '../parse-arguments.ts'
import { hasFileExtension, loadFile } from '../user-modules.ts'
import { checkStudy } from './check-study.ts'
import { policyOf } from './replay-ranges.ts'
import { type IncidentReplay, replayStudy } from './replay-study.ts'

export type StudySource =
	| { readonly kind: 'built-in'; readonly name: string }
	| { readonly kind: 'file'; readonly file: string }
	| ({ readonly kind: 'incident' } & IncidentReplay)

export interface StudyRequest {
	readonly source: StudySource
	/** Names of the variants, or panels of a grid, to run; empty for all. */
	readonly variants: readonly string[]
}

/** Built-in scenarios come first; a file of the same name is `./herd`. */
export function resolveSource(argument: string): StudySource {
	if (Object.hasOwn(scenarios, argument)) return { kind: 'built-in', name: argument }
	const isFile = hasFileExtension(argument) || argument.includes('/') || argument.includes(sep)
	if (isFile) return { kind: 'file', file: argument }
	throw unknownScenario(argument)
}

function unknownScenario(name: string): CliError {
	const names = Object.keys(scenarios)
	return new CliError('notFound', `Unknown scenario "${name}".${didYouMean(nearestName(name, names))}`, {
		hint: `Use one of ${names.join(', ')}, or a .json, .js or .ts file.`,
	})
}

export async function loadStudy({ source, variants }: StudyRequest): Promise<Study> {
	return selectVariants(await loadSource(source), variants)
}

async function loadSource(source: StudySource): Promise<Study> {
	switch (source.kind) {
		case 'built-in': {
			const load = scenarios[source.name]
			if (!load) throw unknownScenario(source.name)
			return load()
		}
		case 'file':
			return checkStudy(await loadFile(source.file), source.file)
		case 'incident':
			return replayStudy(source)
	}
}

function selectVariants(study: Study, names: readonly string[]): Study {
	if (names.length === 0) return study
	for (const name of names) checkVariantName('--variant', name, study)
	const isSelected = (name: string) => names.includes(name) || names.includes(policyOf(name))
	if (isGrid(study)) return { ...study, panels: study.panels.filter(isSelected) }
	const variants = Object.entries(study.variants).filter(([name]) => isSelected(name))
	return { ...study, variants: Object.fromEntries(variants) }
}

/** Returns the names of the variants, or of the panels of a grid. */
export const variantNames = (study: Study): readonly string[] =>
	isGrid(study) ? study.panels : Object.keys(study.variants)

export function checkVariantName(flag: string, name: string, study: Study): void {
	const names = variantNames(study)
	if (!names.includes(name)) throw unknownName(flag, name, names)
}

export async function listScenarios(io: CommandIo): Promise<undefined> {
	const studies = await Promise.all(
		Object.entries(scenarios).map(async ([name, load]) => ({ name, study: await load() })),
	)
	const data = studies.map(({ name, study }) => ({
		name,
		title: study.title,
		description: study.description,
		variants: variantNames(study),
	}))
	const pairs = data.map(({ name, title }) => [name, title] as const)
	io.result(data, () =>
		[
			...formatPairs(pairs, io.columns),
			'',
			`Run one with ${io.style.dim('yaoki simulate herd')}; see ${io.style.dim('--help')} for more options.`,
		].join('\n'),
	)
}
