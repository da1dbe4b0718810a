/** Prints the scenarios of the package, one per line. */
import { scenarios } from '../../sim/scenarios/catalog.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { variantNames } from './study-source.ts'

export async function listScenarios(io: CommandIo): Promise<void> {
	const studies = await Promise.all(
		Object.entries(scenarios).map(async ([name, load]) => ({ name, study: await load() })),
	)
	const data = studies.map(({ name, study }) => ({
		...{ name, title: study.title, description: study.description },
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
