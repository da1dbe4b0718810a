/**
 * Makes a module of an example in the documentation: its imports, what it takes for granted (stand-ins.ts), and the rest as
 * the body of a function, to be called when its time has come. Two kinds of comment are promises, and become checks:
 *
 *     calculateDelay(2, options) // => 4000
 *     retry({ maxRetries: 1.5 }) // => throws maxRetries: got 1.5
 *
 * And a database that an example keeps in a file is made in a temporary folder.
 */
import type { Block } from './markdown.ts'
import * as standIns from './stand-ins.ts'

/** Seen from a folder in .cache/. */
const STAND_INS = '../../test/examples/stand-ins.ts'
/** What can stand only at the top of a module: imports, and additions to the types of others. */
const TOP = /^import [^']*'[^']+'$|^declare module .*?^}$/gms

/** The file of the examples' databases. */
const FILE = "'shop.db'"

/** A name for the file that tells the page and the line. */
export const fileName = ({ place }: Block): string => `${place.replaceAll(/[^\w.]/g, '-')}.ts`

/** With its promises as checks or, for a reader who copies it, as it stands. */
export function moduleOf({ code }: Block, form: 'checked' | 'verbatim'): string {
	const top = code.match(TOP) ?? []
	const lines = code.replace(TOP, '').split('\n')
	const body = form === 'checked' ? inTemporaryFile(lines.map(withCheck).join('\n')) : lines.join('\n')
	return [
		...top,
		// All of them: what the example declares itself, inside the function, hides the stand-in of that name.
		`import { ${Object.keys(standIns).join(', ')} } from '${STAND_INS}'`,
		'export default async (): Promise<void> => {',
		body,
		'}',
		'',
	].join('\n')
}

function inTemporaryFile(body: string): string {
	if (!body.includes(FILE)) return body
	return `const shopFile = temporaryFile()\n${body.replaceAll(FILE, 'shopFile')}`
}

function withCheck(line: string): string {
	const throws = /^(\s*)(?!\s|\/\/)(.+?)\s+\/\/ => throws (.+)$/.exec(line)
	if (throws) return `${throws[1]}checkThrows(() => ${throws[2]}, ${JSON.stringify(throws[3])})`
	const promise = /^(\s*)(?!\s|\/\/)(?:const (\w+) = )?(.+?)\s+\/\/ => (.+)$/.exec(line)
	if (!promise) return line
	const [, indent = '', name, expression = '', expected = ''] = promise
	if (name) return `${indent}const ${name} = ${expression}; check(${name}, ${expected})`
	return `${indent}check(${expression}, ${expected})`
}
