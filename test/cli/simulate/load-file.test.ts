import { mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CliError } from '../../../src/cli/errors.ts'
import { importFailure, loadFile, unreadable } from '../../../src/cli/simulate/load-file.ts'
import { Folder } from './files.ts'

const failing = async (work: Promise<unknown>): Promise<CliError> => {
	const thrown = await work.then(
		() => undefined,
		(error: unknown) => error,
	)
	if (!(thrown instanceof CliError)) throw new Error(`it should have been refused, and was not: ${thrown}`)
	return thrown
}

describe('a file', () => {
	test('of JSON is what it says, also with a mark before it', async () => {
		const folder = new Folder()
		expect(await loadFile(folder.write('a.json', { a: [1] }))).toEqual({ a: [1] })
		expect(await loadFile(folder.write('b.JSON', '\uFEFF{"b": 2}'))).toEqual({ b: 2 })
	})

	test.each([
		['a.mjs', 'export default { a: 1 }'],
		['a.ts', 'const a: number = 1\nexport default { a }'],
		['a.mts', 'export default { a: 1 as number }'],
		['a.cjs', 'module.exports = { a: 1 }'],
	])('%s is its default export', async (name, code) => {
		expect(await loadFile(new Folder().write(name, code))).toEqual({ a: 1 })
	})

	test('of JSON that is none is told by its place', async () => {
		const file = new Folder().write('bad.json', '{\n  "duration": 5,\n  "services": }')
		const { kind, message } = await failing(loadFile(file))
		expect({ kind, message }).toEqual({ kind: 'usage', message: `${file}:3:15: got '}'; takes a value` })
	})

	test('that is not there is not found', async () => {
		const file = new Folder().at('nothing.json')
		expect(await failing(loadFile(file))).toMatchObject({
			kind: 'notFound',
			message: `there is no file '${file}'`,
		})
		expect(await failing(loadFile(`${new Folder().write('a.json', '1')}/b.ts`))).toMatchObject({
			kind: 'notFound',
		})
	})

	test('of another kind, or a folder, is refused with what is taken', async () => {
		const folder = new Folder()
		mkdirSync(folder.at('sub.json'))
		for (const file of [folder.write('a.yaml', 'a: 1'), folder.at('sub.json')])
			expect(await failing(loadFile(file))).toMatchObject({
				kind: 'usage',
				message: `${file}: takes a file that ends in .json, .js, .mjs, .cjs, .ts, .mts, .cts`,
			})
	})

	test.each([
		['', 'exports nothing; takes export default'],
		['export const scenario = {}', 'exports scenario, but nothing as default; takes export default'],
	])('%j lacks a default export', async (code, told) => {
		const file = new Folder().write('none.mjs', code)
		expect(await failing(loadFile(file))).toMatchObject({ kind: 'usage', message: `${file}: ${told}` })
	})

	test('that throws when it is loaded says so with its name', async () => {
		const file = new Folder().write('throws.mjs', "throw new Error('no database')")
		expect(await failing(loadFile(file))).toMatchObject({
			kind: 'failure',
			message: `${file}: no database`,
		})
	})

	test('that can not be read says why', () => {
		const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
		expect(unreadable('a.json', denied)).toMatchObject({
			kind: 'failure',
			message: 'a.json: EACCES: permission denied',
		})
	})
})

describe('a module that can not be loaded', () => {
	test('because this Node does not run TypeScript says since when it does', () => {
		const cause = Object.assign(new TypeError('Unknown file extension ".ts" for /a.ts'), {
			code: 'ERR_UNKNOWN_FILE_EXTENSION',
		})
		expect(importFailure('a.ts', cause)).toMatchObject({
			kind: 'usage',
			message: `a.ts: this Node (${process.version}) does not run TypeScript`,
			hint: 'Node 22.18 and later do; or give the JavaScript that it compiles to.',
		})
	})

	test('because of its syntax says where, or how to find out', () => {
		const [known, unknown] = [new SyntaxError('Expression expected'), new SyntaxError('Unexpected token')]
		known.stack = '/home/a.ts:12\n a: : 1\n\nSyntaxError: Expression expected'
		expect(importFailure('a.ts', known)).toMatchObject({
			kind: 'usage',
			message: 'a.ts:12: Expression expected',
			hint: undefined,
		})
		expect(importFailure('a.mjs', unknown)).toMatchObject({
			kind: 'usage',
			message: 'a.mjs: Unexpected token',
			hint: "'node --check a.mjs' shows where.",
		})
	})

	test.each([
		['a.ts', 'add "type": "module" to package.json, or name it a.mts.'],
		['b/a.js', 'add "type": "module" to package.json, or name it a.mjs.'],
		['a.cts', 'name it a.mts.'],
	])('because %s was read as CommonJS says what makes it a module', (file, told) => {
		const cause = new SyntaxError('Cannot use import statement outside a module')
		cause.stack = `/home/${file}:1\nimport x\n\nSyntaxError: no\n    at wrapSafe (node:internal/modules/cjs/loader:1:1)`
		expect(importFailure(file, cause)).toMatchObject({
			kind: 'usage',
			message: `${file}:1: Cannot use import statement outside a module`,
			hint: `It was read as CommonJS: ${told}`,
		})
	})

	test('because a policy in it refuses its options is called wrongly, as a scenario would be', () => {
		const cause = Object.assign(
			new Error('Invalid option "maxRetries": expected a finite number, 0 or more, got -1'),
			{
				code: 'YAOKI_INVALID_OPTION',
			},
		)
		expect(importFailure('a.ts', cause)).toMatchObject({
			kind: 'usage',
			message: 'a.ts: maxRetries: got -1; takes a finite number, 0 or more',
		})
	})
})
