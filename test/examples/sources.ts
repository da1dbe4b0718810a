/** What the code says about itself, read as text: for facts that have no value at run time, such as the members of a type. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './markdown.ts'

export const source = (path: string): string => readFileSync(join(ROOT, 'src', path), 'utf8')

/** The names of an interface's members, in the order of the source. */
export function membersOf(path: string, name: string): readonly string[] {
	const body = new RegExp(`^(?:export )?interface ${name}\\b.*?\\{$(.*?)^\\}$`, 'ms').exec(source(path))?.[1]
	if (body === undefined) throw new Error(`${path} has no interface ${name}`)
	return [...body.matchAll(/^\treadonly (\w+)\??:/gm)].map(([, member = '']) => member)
}

/** A number as the pages write it. */
export const thousands = (value: number): string => value.toLocaleString('en-US')

/** What stands between quotes, first or all. */
export const unquoted = (cell: string): string => /'([^']+)'/.exec(cell)?.[1] ?? cell
export const strings = (text: string): string[] =>
	[...text.matchAll(/'([^']+)'/g)].map(([, name = '']) => name)
