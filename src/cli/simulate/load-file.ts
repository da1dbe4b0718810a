/**
 * What is in a file of the user: JSON, or the default export of a module. Node runs TypeScript by leaving the types out, so
 * nothing has to be built first and no loader is needed. All that can be wrong with a file is told with its name, for there
 * may be two of them on the command line.
 */
import { readFile, stat } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError, toFailure } from '../errors.ts'
import { jsonFault } from './json-fault.ts'

const MODULES = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']
const ENDINGS: readonly string[] = ['.json', ...MODULES]

/** Does the word end like a file that can be read here? */
export const endsLikeFile = (word: string): boolean => ENDINGS.includes(extname(word).toLowerCase())

/** What a file holds. Its name may be relative, and is told as it was given. */
export async function loadFile(file: string): Promise<unknown> {
	const path = resolve(file)
	const isFolder = await stat(path).then(
		(stats) => stats.isDirectory(),
		(error: unknown) => {
			throw unreadable(file, error)
		},
	)
	if (isFolder || !endsLikeFile(file))
		throw new CliError('usage', `${file}: takes a file that ends in ${ENDINGS.join(', ')}`)
	return path.toLowerCase().endsWith('.json') ? loadJson(file, path) : loadModule(file, path)
}

/** The error for a file that can not be opened. */
export function unreadable(file: string, error: unknown): CliError {
	if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR')
		return new CliError('notFound', `there is no file '${file}'`, { cause: error })
	return new CliError('failure', `${file}: ${toFailure(error).message}`, { cause: error })
}

async function loadJson(file: string, path: string): Promise<unknown> {
	const text = await readFile(path, 'utf8').catch((error: unknown) => {
		throw unreadable(file, error)
	})
	// Some editors begin a file with a mark of its encoding, which is not JSON.
	const json = text.replace(/^\uFEFF/, '')
	try {
		return JSON.parse(json)
	} catch (cause) {
		const fault = jsonFault(json)
		const place = fault ? `${file}:${fault.line}:${fault.column}: ${fault.problem}` : `${file}: is no JSON`
		throw new CliError('usage', place, { cause, hint: 'It is no JSON from there on.' })
	}
}

async function loadModule(file: string, path: string): Promise<unknown> {
	const module = await beforeIdle(file, imported(file, path))
	if ('default' in module) return module['default']
	const others = Object.keys(module).join(', ')
	const got = others === '' ? 'exports nothing' : `exports ${others}, but nothing as default`
	throw new CliError('usage', `${file}: ${got}; takes export default`)
}

const imported = (file: string, path: string): Promise<Readonly<Record<string, unknown>>> =>
	import(pathToFileURL(path).href).catch((error: unknown) => {
		throw importFailure(file, error)
	})

/** A module that awaits what nothing can bring any more would end the process without a word of ours. */
function beforeIdle<T>(file: string, work: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const idle = () =>
			reject(
				new CliError('failure', `${file}: awaits something that never comes`, {
					hint: 'Nothing is left that could settle an await at its top level, or in a module that it imports.',
				}),
			)
		process.once('beforeExit', idle)
		work.then(resolve, reject).finally(() => process.off('beforeExit', idle))
	})
}

/** Why a module could not be loaded, as far as Node tells. */
export function importFailure(file: string, cause: unknown): CliError {
	const { kind, message } = toFailure(cause)
	if (codeOf(cause) === 'ERR_UNKNOWN_FILE_EXTENSION' && /ts$/i.test(file))
		return new CliError('usage', `${file}: this Node (${process.version}) does not run TypeScript`, {
			cause,
			hint: 'Node 22.18 and later do; or give the JavaScript that it compiles to.',
		})
	if (cause instanceof SyntaxError) {
		// Of a TypeScript file the line is told at the top of the stack, of a JavaScript file it is not told.
		const line = /^.*:(\d+)\n/.exec(cause.stack ?? '')?.[1]
		return new CliError('usage', `${file}${line === undefined ? '' : `:${line}`}: ${message}`, {
			cause,
			hint: asModule(file, cause) ?? (line === undefined ? `'node --check ${file}' shows where.` : undefined),
		})
	}
	return new CliError(kind, `${file}: ${message}`, { cause, hint: 'Add --debug to see where it happened.' })
}

/** What to do if a file was read as CommonJS, as without a word in package.json it may be, and is none. */
function asModule(file: string, { message, stack = '' }: Error): string | undefined {
	const isTold = /outside a module|token 'export'|top level bodies of modules/.test(message)
	if (!isTold || !stack.includes('/cjs/')) return undefined
	const name = basename(file).replace(/[cm]?([jt]s)$/i, 'm$1')
	const isFixed = /\.c[jt]s$/i.test(file)
	return `It was read as CommonJS: ${isFixed ? '' : 'add "type": "module" to package.json, or '}name it ${name}.`
}

const codeOf = (error: unknown): unknown =>
	typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
