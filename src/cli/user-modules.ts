/**
 * Loads a file of the user: JSON, the default export of a module, or all its exports. Node runs TypeScript by
 * removing the types, so no build and no loader is needed. Every error names the file because a command can
 * have two.
 */
import { stat } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withOptionPath } from '../core/options/option-path.ts'
import { CliError, errorCode, toFailure, usageError } from './errors.ts'
import { fileError, readJson } from './user-files.ts'

const EXTENSIONS: readonly string[] = ['.json', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']

export const hasFileExtension = (text: string): boolean => EXTENSIONS.includes(extname(text).toLowerCase())

/** Returns the content of a file. Messages name it as it was given, also if it is relative. */
export async function loadFile(file: string): Promise<unknown> {
	await checkFile(file, EXTENSIONS)
	if (isJson(file)) return readJson(file)
	const module = await loadModule(file)
	if ('default' in module) return module['default']
	throw usageError(`${file} has no default export.${listExports(Object.keys(module))}`)
}

export async function loadExports(file: string): Promise<ReadonlyMap<string, unknown>> {
	await checkFile(
		file,
		EXTENSIONS.filter((extension) => !isJson(extension)),
	)
	const entries = Object.entries(await loadModule(file))
	// Node adds this name to the exports of a CommonJS file. Its value is the default export.
	return new Map(entries.filter(([name]) => name !== 'module.exports'))
}

/** Returns a sentence with the exports of a module, or nothing if it has none. */
export const listExports = (names: readonly string[]): string =>
	names.length === 0 ? '' : ` Its exports: ${names.join(', ')}.`

const isJson = (file: string): boolean => file.toLowerCase().endsWith('.json')

async function checkFile(file: string, extensions: readonly string[]): Promise<void> {
	const isFolder = await stat(resolve(file)).then(
		(stats) => stats.isDirectory(),
		(error: unknown) => {
			throw fileError(file, error)
		},
	)
	if (isFolder || !extensions.includes(extname(file).toLowerCase()))
		throw usageError(`Cannot load ${file}: expected a file with extension ${extensions.join(', ')}.`)
}

/** Checks a file's content. Errors name the file, and invalid options the part that is checked. */
export function withFileContext<T>(file: string, path: string, check: () => T): T {
	try {
		return path === '' ? check() : withOptionPath(path, check)
	} catch (cause) {
		if (cause instanceof CliError) throw cause
		const { kind, message } = toFailure(cause)
		throw new CliError(kind, `${file}: ${message}`, { cause })
	}
}

const loadModule = (file: string): Promise<Readonly<Record<string, unknown>>> =>
	rejectWhenIdle(
		file,
		import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
			throw importError(file, error)
		}),
	)

/** A top-level await that can never settle would end the process without a message. */
function rejectWhenIdle<T>(file: string, work: Promise<T>): Promise<T> {
	const idle = Promise.withResolvers<never>()
	const onIdle = () =>
		idle.reject(
			new CliError('failure', `${file} awaits a promise that never settles.`, {
				hint: 'Check the top-level awaits of this module and of the modules that it imports.',
			}),
		)
	process.once('beforeExit', onIdle)
	return Promise.race([work, idle.promise]).finally(() => process.off('beforeExit', onIdle))
}

/** Returns the error for a module that cannot be loaded, with a hint if the reason is known. */
export function importError(file: string, cause: unknown): CliError {
	const { kind, message } = toFailure(cause)
	if (errorCode(cause) === 'ERR_UNKNOWN_FILE_EXTENSION' && /ts$/i.test(file))
		return usageError(`${file}: Node ${process.version} does not run TypeScript.`, {
			cause,
			hint: 'Use Node 22.18 or later, or pass the compiled JavaScript file.',
		})
	if (cause instanceof SyntaxError) {
		// The first line of the stack has the line number for TypeScript, and none for JavaScript.
		const line = /^.*:(\d+)\n/.exec(cause.stack ?? '')?.[1]
		const hint =
			commonJsHint(file, cause) ??
			(line === undefined ? `Run 'node --check ${file}' to see where.` : undefined)
		const place = line === undefined ? file : `${file}:${line}`
		return usageError(`${place}: ${message}`, { cause, hint })
	}
	return new CliError(kind, `${file}: ${message}`, { cause, hint: 'Add --debug to see the stack trace.' })
}

/** Node loads a file as CommonJS unless its name or package.json says otherwise. The errors have no code. */
function commonJsHint(file: string, { message, stack = '' }: Error): string | undefined {
	const isModuleSyntax = /outside a module|token 'export'|top level bodies of modules/.test(message)
	if (!isModuleSyntax || !stack.includes('/cjs/')) return undefined
	const name = basename(file).replace(/[cm]?([jt]s)$/i, 'm$1')
	const isAlwaysCommonJs = /\.c[jt]s$/i.test(file)
	const typeModule = isAlwaysCommonJs ? '' : 'add "type": "module" to package.json, or '
	return `The file was loaded as CommonJS: ${typeModule}rename it to ${name}.`
}
