/**
 * Where a study comes from, as data that can be posted to a worker thread: functions can not be, and a scenario may be full of
 * them, so each thread loads the study for itself. An incident is the exception: what was read of it is plain data, and reading
 * a million lines once is enough.
 */
import { sep } from 'node:path'
import { isGrid, type Study } from '../../sim/run/study.ts'
import { scenarios } from '../../sim/scenarios/catalog.ts'
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { CliError } from '../errors.ts'
import { endsLikeFile, loadFile } from './load-file.ts'
import { type Replay, replayStudy } from './replay.ts'
import { checkedStudy } from './study-check.ts'
import { checkName } from './variant-names.ts'

export type Source =
	| { readonly kind: 'shipped'; readonly name: string }
	| { readonly kind: 'file'; readonly file: string }
	| ({ readonly kind: 'incident' } & Replay)

/** What a thread must know to have the same study as all others. */
export interface Question {
	readonly source: Source
	/** The names of the variants, or of a map's panels, that are asked for; none means all. */
	readonly variants: readonly string[]
}

/** What a word on the command line means. A name that is shipped comes first; a file of that name is `./herd`. */
export function sourceOf(word: string): Source {
	if (Object.hasOwn(scenarios, word)) return { kind: 'shipped', name: word }
	if (endsLikeFile(word) || word.includes('/') || word.includes(sep)) return { kind: 'file', file: word }
	const names = Object.keys(scenarios)
	throw new CliError('notFound', `Unknown scenario "${word}".${didYouMean(nearestName(word, names))}`, {
		hint: `There are ${names.join(', ')}; or give a file that ends in .json, .js or .ts.`,
	})
}

/** The study, with nothing in it but what is asked for. */
export async function studyFrom({ source, variants }: Question): Promise<Study> {
	return narrowed(await loaded(source), variants)
}

async function loaded(source: Source): Promise<Study> {
	switch (source.kind) {
		case 'shipped': {
			const load = scenarios[source.name]
			if (!load) throw new CliError('notFound', `Unknown scenario "${source.name}".`)
			return load()
		}
		case 'file':
			return checkedStudy(await loadFile(source.file), source.file)
		case 'incident':
			return replayStudy(source)
	}
}

function narrowed(study: Study, wanted: readonly string[]): Study {
	if (wanted.length === 0) return study
	for (const name of wanted) checkName('--variant', name, study)
	const isWanted = (name: string) => wanted.includes(name)
	if (isGrid(study)) return { ...study, panels: study.panels.filter(isWanted) }
	const variants = Object.entries(study.variants).filter(([name]) => isWanted(name))
	return { ...study, variants: Object.fromEntries(variants) }
}
