import { mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CliError } from '../../src/cli/errors.ts'
import { fileError } from '../../src/cli/user-files.ts'
import { importError, loadFile } from '../../src/cli/user-modules.ts'
import { Folder } from './simulate/files.ts'

const failureOf = async (work: Promise<unknown>): Promise<CliError> => {
	const thrown = await work.then(
		() => undefined,
		(error: unknown) => error,
	)
	if (!(thrown instanceof CliError)) throw new Error(`expected a CliError, got ${thrown}`)
	return thrown
}

describe('a file', () => {
	test('a file with JSON is parsed, also with a byte order mark', async () => {
		const folder = new Folder()
		expect(await loadFile(folder.write('a.json', { a: [1] }))).toEqual({ a: [1] })
		expect(await loadFile(folder.write('b.JSON', '\uFEFF{"b": 2}'))).toEqual({ b: 2 })
	})

	test.each([
		['a.mjs', 'export default { a: 1 }'],
		['a.ts', 'const a: number = 1\nexport default { a }'],
		['a.mts', 'export default { a: 1 as number }'],
		['a.cjs', 'module.exports = { a: 1 }'],
	])('%s returns its default export', async (name, code) => {
		expect(await loadFile(new Folder().write(name, code))).toEqual({ a: 1 })
	})

	test('a file with invalid JSON is rejected with the message of JSON.parse', async () => {
		const file = new Folder().write('bad.json', '{\n  "duration": 5,\n  "services": }')
		expect(await failureOf(loadFile(file))).toMatchObject({
			kind: 'usage',
			message: expect.stringContaining(`${file} is not valid JSON: Unexpected token '}'`),
			cause: expect.any(SyntaxError),
		})
	})

	test('a file that does not exist is not found', async () => {
		const file = new Folder().at('nothing.json')
		expect(await failureOf(loadFile(file))).toMatchObject({
			kind: 'notFound',
			message: `File "${file}" does not exist.`,
		})
		expect(await failureOf(loadFile(`${new Folder().write('a.json', '1')}/b.ts`))).toMatchObject({
			kind: 'notFound',
		})
	})

	test('a file with another extension, or a folder, is rejected with the valid extensions', async () => {
		const folder = new Folder()
		mkdirSync(folder.at('sub.json'))
		for (const file of [folder.write('a.yaml', 'a: 1'), folder.at('sub.json')])
			expect(await failureOf(loadFile(file))).toMatchObject({
				kind: 'usage',
				message: `Cannot load ${file}: expected a file with extension .json, .js, .mjs, .cjs, .ts, .mts, .cts.`,
			})
	})

	test.each([
		['', 'has no default export.'],
		['export const scenario = {}', 'has no default export. Its exports: scenario.'],
	])('%j has no default export', async (code, reason) => {
		const file = new Folder().write('none.mjs', code)
		expect(await failureOf(loadFile(file))).toMatchObject({ kind: 'usage', message: `${file} ${reason}` })
	})

	test('a file that throws while it is loaded is reported with its name', async () => {
		const file = new Folder().write('throws.mjs', "throw new Error('no database')")
		expect(await failureOf(loadFile(file))).toMatchObject({
			kind: 'failure',
			message: `${file}: no database`,
		})
	})

	test('a file that cannot be read is reported with the reason', () => {
		const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
		expect(fileError('a.json', denied)).toMatchObject({
			kind: 'failure',
			message: 'Cannot read a.json: EACCES: permission denied',
		})
	})
})

describe('importError', () => {
	test('names the Node version that runs TypeScript', () => {
		const cause = Object.assign(new TypeError('Unknown file extension ".ts" for /a.ts'), {
			code: 'ERR_UNKNOWN_FILE_EXTENSION',
		})
		expect(importError('a.ts', cause)).toMatchObject({
			kind: 'usage',
			message: `a.ts: Node ${process.version} does not run TypeScript.`,
			hint: 'Use Node 22.18 or later, or pass the compiled JavaScript file.',
		})
	})

	test('names the line of a syntax error, or the command that shows it', () => {
		const [known, unknown] = [new SyntaxError('Expression expected'), new SyntaxError('Unexpected token')]
		known.stack = '/home/a.ts:12\n a: : 1\n\nSyntaxError: Expression expected'
		expect(importError('a.ts', known)).toMatchObject({
			kind: 'usage',
			message: 'a.ts:12: Expression expected',
			hint: undefined,
		})
		expect(importError('a.mjs', unknown)).toMatchObject({
			kind: 'usage',
			message: 'a.mjs: Unexpected token',
			hint: "Run 'node --check a.mjs' to see where.",
		})
	})

	test.each([
		['a.ts', 'add "type": "module" to package.json, or rename it to a.mts.'],
		['b/a.js', 'add "type": "module" to package.json, or rename it to a.mjs.'],
		['a.cts', 'rename it to a.mts.'],
	])('suggests how to load %s as a module instead of CommonJS', (file, advice) => {
		const cause = new SyntaxError('Cannot use import statement outside a module')
		cause.stack = `/home/${file}:1\nimport x\n\nSyntaxError: no\n    at wrapSafe (node:internal/modules/cjs/loader:1:1)`
		expect(importError(file, cause)).toMatchObject({
			kind: 'usage',
			message: `${file}:1: Cannot use import statement outside a module`,
			hint: `The file was loaded as CommonJS: ${advice}`,
		})
	})

	test('importError returns a usage error for an invalid option of a policy', () => {
		const cause = Object.assign(
			new Error('Invalid option "maxRetries": expected a finite number, 0 or more, got -1'),
			{
				code: 'YAOKI_INVALID_OPTION',
			},
		)
		expect(importError('a.ts', cause)).toMatchObject({
			kind: 'usage',
			message: 'a.ts: Invalid option "maxRetries": expected a finite number, 0 or more, got -1',
		})
	})
})
