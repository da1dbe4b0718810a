/**
 * The doc comments of exports, which editors show. The name of a type does not say where a user meets it, so its comment does: it names in code
 * font what returns, takes or throws it. Examples must compile for users, who cannot create a class that is exported as a type only.
 */
import { declarationOf, placeOf, type Reference, readDeclarations, statementsOf } from './declarations.ts'

const CLASS = 'ClassDeclaration'
const TYPES: readonly string[] = [CLASS, 'TSInterfaceDeclaration', 'TSTypeAliasDeclaration']

/** Returns a sentence for each comment that breaks a rule. `entries`: each entry and its .d.ts file. */
export function findUnclearComments(entries: ReadonlyMap<string, string>): string[] {
	const exported = [...entries.values()].flatMap((file) => [...readDeclarations(file).exported])
	const values = new Set(exported.filter(([, { isType }]) => !isType).map(([name]) => name))
	const declared = new Map(exported.map(([, reference]) => entryOf(declarationOf(reference))))
	const classes = [...declared.values()].filter((one) => kindOf(one) === CLASS && !values.has(one.name))
	const typeOnly = new Set(classes.map(({ name }) => name))
	return [...declared.values()].flatMap((one) => {
		const problems = examplesOf(one)
			.flatMap((example) => [...example.matchAll(/\bnew (\w+)/g)].map(([, name = '']) => name))
			.filter((name) => typeOnly.has(name))
			.map(
				(name) => `an example of ${one.name} creates ${name}, which is exported as a type: use its factory`,
			)
		if (TYPES.includes(kindOf(one)) && !namesAnother(one))
			problems.push(
				`the comment of ${one.name} names nothing else in code font: what returns, takes or throws it?`,
			)
		return problems
	})
}

const entryOf = (declaration: Reference): [string, Reference] => [placeOf(declaration), declaration]

export function kindOf(declaration: Reference): string {
	const [statement] = statementsOf(declaration)
	return Object(Object(statement).declaration ?? statement).type
}

/** Returns the text of the comment above a declaration, without its stars. */
export function commentOf(declaration: Reference): string | undefined {
	const { text, comments } = readDeclarations(declaration.file)
	const [statement] = statementsOf(declaration)
	const above = comments.findLast(({ end }) => statement !== undefined && end <= statement.start)
	if (!above || !statement || text.slice(above.end, statement.start).trim() !== '') return undefined
	return text
		.slice(above.start, above.end)
		.replace(/^\/\*\*|\*\/$/g, '')
		.replace(/^\s*\* ?/gm, '')
		.trim()
}

function namesAnother(declaration: Reference): boolean {
	const [description = ''] = commentOf(declaration)?.split('@example') ?? []
	const inCode = description.match(/`[^`]+`/g) ?? []
	return inCode.some((code) => code.match(/\w+/)?.[0] !== declaration.name)
}

/** The examples above a declaration and above its members. */
function examplesOf(declaration: Reference): string[] {
	const { text, comments } = readDeclarations(declaration.file)
	const inside = statementsOf(declaration).flatMap(({ start, end }) =>
		comments.filter((comment) => comment.start >= start && comment.end <= end),
	)
	const all = [commentOf(declaration) ?? '', ...inside.map(({ start, end }) => text.slice(start, end))]
	return all.flatMap((comment) => comment.split('@example').slice(1))
}
