/** The scenarios that come with the package, a line each. */
import { scenarios } from '../../sim/scenarios/catalog.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { namesOf } from './variant-names.ts'

export async function listScenarios(io: CommandIo): Promise<void> {
	const all = await Promise.all(
		Object.entries(scenarios).map(async ([name, load]) => ({ name, study: await load() })),
	)
	const data = all.map(({ name, study }) => ({
		name,
		title: study.title,
		description: study.description,
		variants: namesOf(study),
	}))
	io.result(data, () =>
		[
			...formatPairs(
				all.map(({ name, study }) => [name, study.title]),
				io.columns,
			),
			'',
			`${io.style.dim('yaoki simulate herd')} runs one of them; ${io.style.dim('--help')} says what else there is.`,
		].join('\n'),
	)
}
