/** A name that two entries export with different declarations forces programs that import both to rename one. */
import { find, placeOf, readDeclarations } from './declarations.ts'

/** Names that two entries export on purpose, with the same declaration. docs/decisions/0044-public-names.md says why. */
const SHARED: readonly string[] = [
	...['HttpError', 'Queryable'],
	...[
		'drizzleTx',
		'knexTx',
		'kyselyTx',
		'mikroOrmTx',
		'postgresJsTx',
		'prismaTx',
		'sequelizeTx',
		'typeormTx',
	],
]

/** Returns a sentence for each name that entries share without being allowed to. `entries`: each entry and its .d.ts file. */
export function findDuplicates(
	entries: ReadonlyMap<string, string>,
	shared: readonly string[] = SHARED,
): string[] {
	const first = new Map<string, { readonly entry: string; readonly place: string }>()
	const problems: string[] = []
	for (const [entry, file] of entries) {
		for (const [name, reference] of readDeclarations(file).exported) {
			const place = placeOf(find(reference) ?? reference)
			const other = first.get(name)
			if (!other) first.set(name, { entry, place })
			else if (other.place !== place)
				problems.push(`${name} is one declaration in ${other.entry} and another in ${entry}: rename one`)
			else if (!shared.includes(name))
				problems.push(`${name} is exported by ${other.entry} and ${entry}: export it once`)
		}
	}
	return problems
}
