/**
 * Turns an example of the documentation into a module: its imports, the functions for checks (stand-ins.ts), and its code as the body
 * of a function. Two kinds of comments become checks:
 *
 *     calculateDelay(2, options) // => 4000
 *     retry({ maxRetries: 1.5 }) // => throws maxRetries: got 1.5
 *
 * A file of an example is created in a temporary folder, and a server listens on a port of this process instead of 3000.
 */
import type { Block } from './markdown.ts'
import * as standIns from './stand-ins.ts'

/** Relative to a folder in .cache/. */
const STAND_INS = '../../test/examples/stand-ins.ts'
const RECORDER = '../../test/examples/recorder.ts'
/** Statements for the top level of a module: imports and type augmentations. */
const TOP = /^import [^']*'[^']+'$|^declare module .*?^}$/gms

/** The files in examples: a database, an event log. */
const FILE = /'(shop\.db|events\.jsonl)'/g

/** Below the ports that the system gives to clients. */
const PORT = String(10_000 + (process.pid % 10_000))

/** Returns a file name with the page and the line. */
export const fileName = ({ place }: Pick<Block, 'place'>): string => `${place.replaceAll(/[^\w.]/g, '-')}.ts`

/** Returns the module, with its comments as checks or as a reader copies it. */
export function moduleOf({ code }: Block, form: 'checked' | 'verbatim'): string {
	const top = code.match(TOP) ?? []
	const lines = code.replace(TOP, '').split('\n')
	const body =
		form === 'checked' ? onOwnPort(inTemporaryFile(lines.map(withCheck).join('\n'))) : lines.join('\n')
	const names = form === 'checked' ? top.flatMap(importedValues).join(', ') : ''
	return [
		...top,
		`import { recorded } from '${RECORDER}'`,
		`const imported = recorded({ ${names} })`,
		`import { ${Object.keys(standIns).join(', ')} } from '${STAND_INS}'`,
		'export default async (): Promise<void> => {',
		`const { ${names} } = imported`,
		body,
		'}',
		'',
	].join('\n')
}

/** Returns the names of the values that a statement imports from the package. */
function importedValues(statement: string): readonly string[] {
	const [, names = ''] = /^import \{([^}]*)\} from 'yaoki(?:\/.+)?'$/.exec(statement) ?? []
	return names
		.split(',')
		.map((name) => name.trim())
		.filter((name) => name !== '' && !name.startsWith('type '))
}

const onOwnPort = (body: string): string =>
	body.includes('listen(3000') ? body.replaceAll(/\b3000\b/g, PORT) : body

function inTemporaryFile(body: string): string {
	if (body.search(FILE) < 0) return body
	return `const fileOfExample = temporaryFile()\n${body.replaceAll(FILE, 'fileOfExample')}`
}

export function withCheck(line: string): string {
	const throws = /^(\s*)(?!\s|\/\/)(.+?)\s+\/\/ => throws (.+)$/.exec(line)
	if (throws) return `${throws[1]}checkThrows(() => ${throws[2]}, ${JSON.stringify(throws[3])})`
	const promise = /^(\s*)(?!\s|\/\/)(?:const (\w+) = )?(.+?)\s+\/\/ => (.+)$/.exec(line)
	if (!promise) return line
	const [, indent = '', name, expression = '', expected = ''] = promise
	if (name) return `${indent}const ${name} = ${expression}; check(${name}, ${expected})`
	return `${indent}check(${expression}, ${expected})`
}
