/**
 * The public surface is a list in this folder, so that a change of it is visible in review. The list is made from the
 * declarations that users get, and not from the sources.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import * as root from 'yaoki'
import { findCodes } from '../../scripts/surface/codes.ts'
import { findUnclearComments } from '../../scripts/surface/comments.ts'
import { findDuplicates } from '../../scripts/surface/duplicates.ts'
import { currentSurface, LISTINGS, type Surface } from '../../scripts/surface/emit.ts'
import { exportsPage } from '../../scripts/surface/exports-page.ts'
import { type Listing, listSurface } from '../../scripts/surface/listing.ts'
import { ROOT } from '../../scripts/tools.ts'

describe('the public surface', () => {
	let surface: Surface
	beforeAll(() => {
		surface = currentSurface()
	}, 60_000)

	test('the public surface is the one that is written down', () => {
		const listings = readdirSync(join(ROOT, LISTINGS)).filter((file) => file.endsWith('.txt'))
		expect([...surface.files.keys()], UPDATE).toEqual(
			expect.arrayContaining(listings.map((file) => `${LISTINGS}/${file}`)),
		)
		for (const [path, text] of surface.files)
			expect(text, `${path}: ${UPDATE}`).toBe(readFileSync(join(ROOT, path), 'utf8'))
	})

	test('the public surface has at most 60 names in its root entry that can be called or caught', () => {
		const names = Object.keys(root)
		expect(surface.listings.get('yaoki')?.names).toEqual(expect.arrayContaining(names))
		expect(names).toContain('retryWithBackoff')
		expect(names.length).toBeLessThanOrEqual(60)
	})

	test('the public surface has at most 424 names in all entries', () => {
		const names = [...surface.listings.values()].flatMap((listing) => listing.names)
		expect(names.length).toBeGreaterThan(100)
		expect(names.length).toBeLessThanOrEqual(424)
	})

	test('names no protocol in the types of core, except in the error of the specification', () => {
		const lines = surface.listings.get('yaoki')?.text.split('\n') ?? []
		expect(
			lines
				.filter((line) => /http|grpc|metadata|\bauth|service|statusname/i.test(line))
				.map((line) => line.trim()),
		).toEqual(['class HttpError extends YaokiError {', "readonly name = 'HttpError'", "| 'YAOKI_HTTP'"])
	})
})

const UPDATE =
	'the public surface has changed. If that was meant, run `npm run surface` and commit what it writes'

/** Writes declarations, and returns the file of each entry. */
function plant(files: Record<string, string>, ...entries: readonly string[]): Map<string, string> {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-planted-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
	return new Map(entries.map((entry) => [entry, join(folder, `${entry}.d.ts`)]))
}

/** The listing of a package whose entry is planted.d.ts. */
function listingOf(files: Record<string, string>): Listing {
	const listing = listSurface(plant(files, 'planted')).get('planted')
	if (!listing) throw new Error('nothing was listed')
	return listing
}

const HEADER = (names: number) => `// planted: ${names} names. Written by \`npm run surface\`.`

describe('a listing', { timeout: 30_000 }, () => {
	test('follows names to where they are declared, and leaves comments and private members out', () => {
		const { names, text } = listingOf({
			'planted.d.ts': "export { b as c, A } from './a.js';\nexport type { T } from './a.ts';",
			'a.d.ts': [
				'/** Doc. */',
				'export declare class A {',
				'    #private;',
				'    /** Doc. */',
				'    private secret;',
				'    private constructor();',
				'    protected open(): void; // why',
				'}',
				'export declare function b(): 1;',
				'export declare function b(x: string): 2;',
				'export type T = {    a: 1 };',
			].join('\n'),
		})
		expect(names).toEqual(['A', 'T', 'c'])
		expect(text).toBe(
			`${[
				HEADER(3),
				'',
				'class A {',
				'	private constructor()',
				'	protected open(): void',
				'}',
				'',
				'type T = { a: 1 }',
				'',
				'function b(): 1',
				'function b(x: string): 2',
				'export { b as c }',
			].join('\n')}\n`,
		)
	})

	test('shows what has no public name but can be seen: bases, options, what a typeof reads', () => {
		const { text } = listingOf({
			'planted.d.ts': "import { Base } from './base.ts';\nexport declare class A extends Base {\n}",
			'base.d.ts': [
				'declare const limits: { most: 1 };',
				'interface Options { limits: typeof limits }',
				'export declare class Base { constructor(options: Options); }',
				'export interface Unseen {}',
			].join('\n'),
		})
		expect(text).toContain('seen through the above')
		expect(text).toContain('class Base {')
		expect(text).toContain('interface Options {')
		expect(text).toContain('const limits: { most: 1 }')
		expect(text).not.toContain('Unseen')
	})

	test.each([
		['a member', 'export interface A { a: string }', 'export interface A { a: number }'],
		['a default', 'export declare function a(b: 1): 1', 'export declare function a(b?: 1): 1'],
		['a modifier', 'export interface A { readonly a: 1 }', 'export interface A { a: 1 }'],
	])('a listing is another one after a change of %s', (_, before, after) => {
		expect(listingOf({ 'planted.d.ts': before }).text).not.toBe(listingOf({ 'planted.d.ts': after }).text)
	})

	test('a listing is the same one after a change of layout or of a comment', () => {
		const before = 'export interface A { a: 1 | 2; b: 2 }'
		const after = '/** New. */\nexport interface A {\n    a:\n        | 1\n        | 2;\n\n\n    b: 2;\n}'
		expect(listingOf({ 'planted.d.ts': after }).text.replace(/\s+/g, ' ')).toBe(
			listingOf({ 'planted.d.ts': before }).text.replace(/\s+/g, ' '),
		)
	})

	test('refuses what makes names public by accident, and what has no name', () => {
		const a = 'export declare const a: 1'
		expect(() => listingOf({ 'planted.d.ts': "export * from './a.ts'", 'a.d.ts': a })).toThrow('export *')
		expect(() => listingOf({ 'planted.d.ts': 'export default 1' })).toThrow('default export')
		expect(() => listingOf({ 'planted.d.ts': "export { b } from './a.ts'", 'a.d.ts': a })).toThrow(
			'nowhere declared',
		)
	})
})

describe('names in two entries', () => {
	const problemsOf = (files: Record<string, string>, shared?: readonly string[]): string[] =>
		findDuplicates(plant(files, 'one', 'two'), shared)
	const again = "export { A } from './a.ts'"
	const files = { 'one.d.ts': again, 'two.d.ts': again, 'a.d.ts': 'export interface A {}' }

	test('names with different declarations are rejected, also if they are shared on purpose', () => {
		const different = { ...files, 'two.d.ts': 'export interface A {}' }
		const expected = ['A is one declaration in one and another in two: rename one']
		expect(problemsOf(different)).toEqual(expected)
		expect(problemsOf(different, ['A'])).toEqual(expected)
	})

	test('names with the same declaration are rejected unless they are shared on purpose', () => {
		expect(problemsOf(files)).toEqual(['A is exported by one and two: export it once'])
		expect(problemsOf(files, ['A'])).toEqual([])
	})
})

describe('codes of errors', () => {
	const problemsOf = (...lines: readonly string[]) =>
		findCodes(new Map([['a.ts', ['class YaokiError extends Error {}', ...lines].join('\n')]])).problems
	const LIST = "type YaokiErrorCode = 'YAOKI_LEASE_LOST'"
	const errorClass = (name: string, code: string, base = 'YaokiError') =>
		`class ${name} extends ${base} { readonly name = '${name}'; constructor() { super(${code}) } }`
	const LEASE_LOST = errorClass('LeaseLostError', "'YAOKI_LEASE_LOST'")

	test('codes of errors are found in classes, in constants, in subclasses and where a YaokiError is created', () => {
		const { classes, problems } = findCodes(
			new Map([
				['a.ts', `${errorClass('LeaseLostError', 'CODE')}\nconst CODE = 'YAOKI_LEASE_LOST'`],
				['b.ts', 'class Silent extends LeaseLostError {}\nclass Other extends Error {}'],
				[
					'c.ts',
					"throw new YaokiError('YAOKI_OTHER')\ntype YaokiErrorCode = 'YAOKI_LEASE_LOST' | 'YAOKI_OTHER'",
				],
			]),
		)
		expect(problems).toEqual([])
		expect([...classes]).toEqual([
			['YAOKI_LEASE_LOST', 'LeaseLostError'],
			['YAOKI_OTHER', 'YaokiError'],
		])
	})

	test.each([
		[
			'is not that of its class',
			["'YAOKI_LEASE'"],
			'LeaseLostError has the code YAOKI_LEASE instead of YAOKI_LEASE_LOST',
		],
		['is computed', ['computed()'], 'the code of a LeaseLostError is not constant in its file'],
	])('codes of errors are rejected if one %s', (_, [code = ''], expected) => {
		expect(problemsOf(LIST, errorClass('LeaseLostError', code))).toContain(expected)
	})

	test.each([
		['a plain error', "throw new YaokiError('YAOKI_LEASE_LOST')", 'YaokiError'],
		['a subclass', errorClass('StoreError', '1', 'LeaseLostError'), 'StoreError'],
	])('codes of errors are rejected if two classes have one: %s', (_, source, name) => {
		expect(problemsOf(LIST, LEASE_LOST, source)).toEqual([
			`YAOKI_LEASE_LOST is the code of LeaseLostError and of ${name}`,
		])
	})

	test('codes of errors are rejected if a class is declared twice, or the list has one too few or too many', () => {
		expect(problemsOf(LIST, LEASE_LOST, LEASE_LOST)).toEqual(['LeaseLostError is declared twice'])
		expect(problemsOf(LEASE_LOST)).toEqual([
			'YAOKI_LEASE_LOST of LeaseLostError is missing in YaokiErrorCode',
		])
		expect(problemsOf(LIST)).toEqual(['YAOKI_LEASE_LOST is in YaokiErrorCode, but no error has it'])
	})
})

describe('the page of exports', () => {
	const files = {
		'one.d.ts': [
			'/**',
			' * Runs `fn`,',
			' * or not. More.',
			' */',
			'export declare function run(options?: RunOptions): Run',
			'/** Options. */',
			'export interface RunOptions { deep: Deep }',
			"export type { Run, Deep } from './two.ts'",
		].join('\n'),
		'two.d.ts': '/** A run. */\nexport declare class Run {}\n/** Deep | down. */\nexport interface Deep {}',
	}
	const pageOf = (text: string, uses: Record<string, string>, changed: object = {}) =>
		exportsPage(plant({ ...files, ...changed }, 'one'), { texts: new Map([['a.md', text]]), uses })

	test('the page of exports has a row for each export: its first sentence, and its page or that of the export that leads to it', () => {
		const { text, problems } = pageOf('Call `run()`.', { a: 'run' })
		expect(problems).toEqual([])
		expect(text.split('\n').filter((line) => line.startsWith('| `'))).toEqual([
			'| `run` | Runs `fn`, or not. | [a](a.md) |',
			'| `Deep` | Deep \\| down. | [a](a.md), with `run` |',
			'| `Run` | A run. | [a](a.md), with `run` |',
			'| `RunOptions` | Options. | [a](a.md), with `run` |',
		])
	})

	test.each([
		['is in code font nowhere on its page', 'Just run it.', { a: 'run' }, 'a.md does not use run'],
		['has a page that does not exist', '`run`', { b: 'run' }, 'b.md does not use run'],
		['has no page', '`Run`', { a: 'Run' }, 'run has no page: add it to scripts/surface/guide-pages.ts'],
		['has two pages', '`run`', { a: 'run run' }, 'run has two pages: a and a'],
		['is not exported', '`run` `gone`', { a: 'run gone' }, 'gone has a page, but it is not exported'],
	])('the page of exports is rejected if a name %s', (_, text, uses, expected) => {
		expect(pageOf(text, uses).problems).toContain(expected)
	})

	test('the page of exports is rejected if an export has no doc comment', () => {
		const changed = { 'two.d.ts': 'export declare class Run {}\n/** Deep. */\nexport interface Deep {}' }
		expect(pageOf('`run`', { a: 'run' }, changed).problems).toEqual(['Run has no doc comment'])
	})
})

describe('comments of exports', () => {
	const EXAMPLE = ['/**', ' * What `run` returns.', ' *', ' * @example', ' * EXAMPLE', ' */'].join('\n')
	const problemsOf = (run: string, example = 'run()', entry = "export type { Run } from './run.ts'") =>
		findUnclearComments(
			plant(
				{
					'one.d.ts': `${entry}\n${EXAMPLE.replace('EXAMPLE', example)}\nexport declare function run(): Run`,
					'run.d.ts': `${run}\nexport declare class Run {}`,
				},
				'one',
			),
		)
	const NAMED = '/** What `run` returns. */'
	const UNNAMED = 'the comment of Run names nothing else in code font: what returns, takes or throws it?'

	test('comments of exports are accepted if a type names what returns it', () => {
		expect(problemsOf(NAMED)).toEqual([])
	})

	test.each([
		['nothing', '/** A run. */'],
		['only itself', '/** A `Run`, or a `Run<string>`. */'],
		['another thing only in its example', '/**\n * A run.\n * @example\n * `run`\n */'],
	])('comments of exports are rejected if a type names %s', (_, comment) => {
		expect(problemsOf(comment)).toEqual([UNNAMED])
	})

	test('comments of exports are rejected if an example creates a class that is exported as a type only', () => {
		const rejected = (name: string) =>
			`an example of ${name} creates Run, which is exported as a type: use its factory`
		expect(problemsOf(NAMED, 'const one = new Run()')).toEqual([rejected('run')])
		expect(problemsOf(EXAMPLE.replace('EXAMPLE', 'new Run()'))).toEqual([rejected('Run')])
	})

	test('may create a class that is exported as a value, or a class of another package', () => {
		expect(problemsOf(NAMED, 'new Run()', "export { Run } from './run.ts'")).toEqual([])
		expect(problemsOf(NAMED, 'new Pool()')).toEqual([])
	})
})
