import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { entryFiles } from './entries.ts'
import { KNOWN_EXCEPTIONS } from './known-exceptions.ts'
import { findViolations, MAX_CHAIN } from './rules.ts'
import type { Source } from './syntax.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const sources: Source[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
	.filter((file) => file.endsWith('.ts'))
	.map((file) => ({
		path: `src/${file.replaceAll('\\', '/')}`,
		text: readFileSync(join(root, 'src', file), 'utf8'),
	}))

/** The messages for sources given as `{ path: text }`. */
const check = (files: Record<string, string>, ...entries: readonly string[]): string[] =>
	findViolations(
		Object.entries(files).map(([path, text]) => ({ path, text })),
		entries,
	).map(({ message }) => message)

describe('the sources', () => {
	const violations = findViolations(sources, [...entryFiles().values()])

	test('follow the rules, except for known exceptions', () => {
		expect(sources.length).toBeGreaterThan(100)
		const unknown = violations.filter(({ key }) => !KNOWN_EXCEPTIONS.includes(key))
		expect(unknown.map(({ message }) => message)).toEqual([])
	})

	test('still break the rules that are listed as known exceptions; otherwise remove them from the list', () => {
		const keys = violations.map(({ key }) => key)
		expect(KNOWN_EXCEPTIONS.filter((exception) => !keys.includes(exception))).toEqual([])
	})
})

describe('a floor imports only from floors below it', () => {
	test.each([
		['core', '../testing/index.ts', 'core must not import testing, which is on a higher floor'],
		['testing', '../node/index.ts', 'testing must not import node, which is on the same floor'],
		['http', '../sim/index.ts', 'http must not import sim, which is on the same floor'],
		['idempotency', '../outbox/index.ts', 'idempotency must not import outbox, which is on a higher floor'],
		['outbox', '../telemetry/index.ts', 'outbox must not import telemetry, which is on a higher floor'],
		['sim', '../outbox/index.ts', 'sim must not import outbox, which is on a higher floor'],
		['outbox', '../dashboard/page.ts', 'outbox must not import dashboard, which is on a higher floor'],
		['dashboard', '../cli/main.ts', 'dashboard must not import cli, which is on a higher floor'],
	])('rejects an import in %s of %s', (floor, specifier, reason) => {
		const text = `// first line\nimport { a } from '${specifier}'`
		expect(check({ [`src/${floor}/a.ts`]: text })).toEqual([`src/${floor}/a.ts:2: ${reason} (${specifier})`])
	})

	test.each([
		['import type', "import type { A } from '../testing/a.ts'"],
		['export from', "export { a } from '../testing/a.ts'"],
		['export *', "export * from '../testing/a.ts'"],
		['import()', "const a = await import('../testing/a.ts')"],
		['import() as a type', "type A = import('../testing/a.ts').A"],
		['an import without names', "import '../testing/a.ts'"],
	])('rejects %s of a higher floor', (_, text) => {
		expect(check({ 'src/core/a.ts': text })).toEqual([
			'src/core/a.ts:1: core must not import testing, which is on a higher floor (../testing/a.ts)',
		])
	})

	test('accepts imports from all floors below', () => {
		const below = [
			'../core/a.ts',
			'../text/a.ts',
			'../sql/a.ts',
			'../http/a.ts',
			'../idempotency/a.ts',
			'./b.ts',
		]
		const text = below.map((specifier) => `import '${specifier}'`).join('\n')
		expect(check({ 'src/outbox/a.ts': text })).toEqual([])
	})

	test('rejects a folder without a floor', () => {
		expect(check({ 'src/helpers/a.ts': '' })).toEqual([
			'src/helpers/a.ts:1: src/helpers is not assigned to a floor',
		])
	})

	test('rejects an import from outside of src', () => {
		expect(check({ 'src/cli/a.ts': "import '../../package.json'" })).toEqual([
			'src/cli/a.ts:1: ../../package.json is outside of src',
		])
	})
})

describe('code that runs anywhere', () => {
	test.each(['core', 'testing', 'http', 'sim', 'text', 'telemetry'])(
		'must not import modules of Node: %s',
		(floor) => {
			const path = `src/${floor}/a.ts`
			expect(
				check({ [path]: "import 'node:fs'\nimport { join } from 'path'\nimport 'fs/promises'" }),
			).toEqual([
				`${path}:1: ${floor} must run anywhere, but imports node:fs`,
				`${path}:2: ${floor} must run anywhere, but imports path`,
				`${path}:3: ${floor} must run anywhere, but imports fs/promises`,
			])
		},
	)

	// Regression: telemetry loaded `node:sqlite` through the outbox, and failed on Deno and workerd.
	test.each([
		['import', "import { a } from '../../outbox/a.ts'"],
		['a value beside a type', "import { type A, b } from '../../outbox/a.ts'"],
		['export from', "export { a } from '../../outbox/a.ts'"],
		['export *', "export * from '../../outbox/a.ts'"],
		['import()', "const a = await import('../../outbox/a.ts')"],
		['an import without names', "import '../../outbox/a.ts'"],
	])('must not load the outbox in telemetry: %s', (_, text) => {
		expect(check({ 'src/telemetry/logs/a.ts': text })).toEqual([
			'src/telemetry/logs/a.ts:1: telemetry must import only types of outbox, which does not run anywhere (../../outbox/a.ts)',
		])
		expect(check({ 'src/telemetry/node/a.ts': text, 'src/cli/logs/a.ts': text })).toEqual([])
	})

	test.each([
		"import type { A } from '../../outbox/a.ts'",
		"import { type A, type B } from '../../outbox/a.ts'",
		"export type { A } from '../../outbox/a.ts'",
		"type A = import('../../outbox/a.ts').A",
	])('may use types of the outbox in telemetry: %s', (text) => {
		expect(check({ 'src/telemetry/logs/a.ts': text })).toEqual([])
	})

	test('must not have dependencies in core, not even for types', () => {
		expect(check({ 'src/core/a.ts': "import type { Pool } from 'pg'" })).toEqual([
			'src/core/a.ts:1: core must not have dependencies, but imports pg',
		])
	})

	test('must not import a computed specifier in core', () => {
		expect(check({ 'src/core/a.ts': 'await import(name)' })).toEqual([
			'src/core/a.ts:1: core must not have dependencies, but imports a computed specifier',
		])
	})

	test('must not import the package by its own name', () => {
		expect(check({ 'src/http/a.ts': "import 'yaoki/testing'" })).toEqual([
			'src/http/a.ts:1: yaoki/testing is this package; import the file',
		])
	})

	test('may import modules of Node and dependencies on floors that need Node', () => {
		expect(check({ 'src/node/a.ts': "import 'node:async_hooks'\nimport type { Pool } from 'pg'" })).toEqual(
			[],
		)
	})
})

describe('time and randomness come from the runtime', () => {
	const clocks = {
		'Date.now': 'Date.now()',
		'new Date': 'new Date()',
		'performance.now': 'performance.now()',
		'Math.random': 'Math.random()',
		'process.hrtime': 'process.hrtime.bigint()',
		setTimeout: 'setTimeout(() => {}, 1)',
		setInterval: 'const every = setInterval',
		setImmediate: 'globalThis.setImmediate(run)',
		'AbortSignal.timeout': 'AbortSignal.timeout(5)',
	}
	test.each(Object.entries(clocks))('rejects %s', (what, text) => {
		expect(check({ 'src/outbox/a.ts': `\n\n${text}` })).toEqual([
			`src/outbox/a.ts:3: ${what} is allowed only in src/core/runtime/system.ts; use the runtime`,
		])
	})

	test.each([
		'const { setTimeout: later } = globalThis',
		'const { now } = Date',
		"const now = Date['now']",
		'const timers = { setTimeout }',
		"import { setTimeout } from 'node:timers/promises'",
	])('rejects a reference without a call: %s', (text) => {
		expect(check({ 'src/outbox/a.ts': text })).toHaveLength(1)
	})

	test('accepts names in comments, strings, types and properties', () => {
		const text = [
			'// setTimeout(run, 1)',
			'/* Date.now() */',
			"const a = 'Math.random()' + `setTimeout(1)`",
			'type Timer = ReturnType<typeof setTimeout>',
			'runtime.setTimeout(1)',
			'const options = { setInterval: 1 }',
			'new Date(0)',
			'queueMicrotask(run)',
		].join('\n')
		expect(check({ 'src/core/a.ts': text })).toEqual([])
	})

	test('accepts them in the system runtime and the command line', () => {
		const text = 'Date.now(); setTimeout(run, Math.random())'
		expect(check({ 'src/core/runtime/system.ts': text, 'src/cli/main.ts': text })).toEqual([])
	})
})

describe('files must not import each other in a cycle', () => {
	test('rejects a cycle of two files, types included', () => {
		expect(
			check({
				'src/core/a.ts': "import './b.ts'",
				'src/core/b.ts': "\nimport type { A } from './a.ts'",
			}),
		).toEqual(['src/core/b.ts:2: import cycle: src/core/a.ts -> src/core/b.ts -> src/core/a.ts'])
	})

	test('rejects a cycle of three files that another file imports', () => {
		expect(
			check({
				'src/core/index.ts': "export { a } from './a.ts'",
				'src/core/a.ts': "import './b.ts'",
				'src/core/b.ts': "import './c.ts'",
				'src/core/c.ts': "import './a.ts'",
			}),
		).toEqual([
			'src/core/c.ts:1: import cycle: src/core/a.ts -> src/core/b.ts -> src/core/c.ts -> src/core/a.ts',
		])
	})

	test('accepts two paths to the same file', () => {
		expect(
			check({
				'src/core/a.ts': "import './b.ts'\nimport './c.ts'",
				'src/core/b.ts': "import './d.ts'",
				'src/core/c.ts': "import './d.ts'",
				'src/core/d.ts': '',
			}),
		).toEqual([])
	})
})

describe('folders', () => {
	test('must not import each other, even if their files form no cycle', () => {
		const cycle = {
			'src/core/x/a.ts': "import '../y/b.ts'",
			'src/core/y/b.ts': '',
			'src/core/y/c.ts': "import '../z/d.ts'",
			'src/core/z/d.ts': "import { e } from '../x/e.ts'",
			'src/core/x/e.ts': '',
		}
		expect(check(cycle)).toEqual(['these folders import each other: src/core/x, src/core/y, src/core/z'])
		const typesOnly = "import { type E } from '../x/e.ts'\nimport type { F } from '../x/e.ts'"
		expect(check({ ...cycle, 'src/core/z/d.ts': typesOnly })).toEqual([])
	})
})

describe('the import chain of an entry', () => {
	const chain = (length: number, load: (next: string) => string) =>
		Object.fromEntries(
			Array.from({ length }, (_, index) => [
				`src/core/${index}.ts`,
				index < length - 1 ? load(`./${index + 1}.ts`) : '',
			]),
		)

	test(`must not have more than ${MAX_CHAIN} files`, () => {
		const load = (next: string) => `export { a } from '${next}'`
		expect(check(chain(MAX_CHAIN, load), 'src/core/0.ts')).toEqual([])
		const [message = ''] = check(chain(MAX_CHAIN + 1, load), 'src/core/0.ts')
		expect(message).toContain(
			'src/core/0.ts loads a chain of 13 files; at most 12 are allowed:\n  src/core/0.ts\n',
		)
	})

	test('counts neither types nor dynamic imports', () => {
		for (const load of [
			(next: string) => `import type { A } from '${next}'`,
			(next: string) => `import('${next}')`,
		])
			expect(check(chain(MAX_CHAIN + 1, load), 'src/core/0.ts')).toEqual([])
	})
})

test('reports the right line after characters of several bytes', () => {
	expect(check({ 'src/core/a.ts': '// 七転び八起き 🙂\n\nDate.now()' })).toEqual([
		'src/core/a.ts:3: Date.now is allowed only in src/core/runtime/system.ts; use the runtime',
	])
})

test('throws for a file with a syntax error', () => {
	expect(() => check({ 'src/core/a.ts': 'const = 1' })).toThrow('src/core/a.ts')
})
