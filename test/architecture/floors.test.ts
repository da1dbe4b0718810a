import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { breaches } from './floors.ts'
import type { Source } from './syntax.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const house: Source[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
	.filter((file) => file.endsWith('.ts'))
	.map((file) => ({
		path: `src/${file.replaceAll('\\', '/')}`,
		text: readFileSync(join(root, 'src', file), 'utf8'),
	}))

/** A house of one file, or of several: `{ path: text }`. */
const planted = (files: Record<string, string>): string[] =>
	breaches(Object.entries(files).map(([path, text]) => ({ path, text })))

test('the house stands as it was designed', () => {
	expect(house.length).toBeGreaterThan(20)
	expect(breaches(house)).toEqual([])
})

describe('a floor imports only those below it', () => {
	test.each([
		['core', '../testing/index.ts', 'core imports testing, which is above it'],
		['testing', '../node/index.ts', 'testing imports node, which is beside it'],
		['http', '../telemetry/index.ts', 'http imports telemetry, which is beside it'],
		['sim', '../outbox/index.ts', 'sim imports outbox, which is above it'],
		['outbox', '../dashboard/page.ts', 'outbox imports dashboard, which is above it'],
		['dashboard', '../cli/main.ts', 'dashboard imports cli, which is above it'],
	])('%s does not import %s', (floor, specifier, reason) => {
		const text = `// first line\nimport { a } from '${specifier}'`
		expect(planted({ [`src/${floor}/a.ts`]: text })).toEqual([
			`src/${floor}/a.ts:2: ${reason} (${specifier})`,
		])
	})

	test.each([
		['import type', "import type { A } from '../testing/a.ts'"],
		['export from', "export { a } from '../testing/a.ts'"],
		['export *', "export * from '../testing/a.ts'"],
		['import()', "const a = await import('../testing/a.ts')"],
		['import() as a type', "type A = import('../testing/a.ts').A"],
		['an import for its effect', "import '../testing/a.ts'"],
	])('however it is written: %s', (_, text) => {
		expect(planted({ 'src/core/a.ts': text })).toEqual([
			'src/core/a.ts:1: core imports testing, which is above it (../testing/a.ts)',
		])
	})

	test('but all of those', () => {
		const below = ['../core/a.ts', '../testing/a.ts', '../http/a.ts', '../telemetry/a.ts', './b.ts']
		const text = below.map((specifier) => `import '${specifier}'`).join('\n')
		expect(planted({ 'src/outbox/a.ts': text })).toEqual([])
	})

	test('and a folder that nobody gave a floor has none', () => {
		expect(planted({ 'src/helpers/a.ts': '' })).toEqual(['src/helpers/a.ts:1: src/helpers is on no floor'])
	})

	test('nor does a file leave src', () => {
		expect(planted({ 'src/cli/a.ts': "import '../../package.json'" })).toEqual([
			'src/cli/a.ts:1: ../../package.json is outside of src',
		])
	})
})

describe('what runs anywhere imports nothing that is not there', () => {
	test.each(['core', 'testing', 'http', 'sim'])('%s has no module of Node', (floor) => {
		const path = `src/${floor}/a.ts`
		expect(
			planted({ [path]: "import 'node:fs'\nimport { join } from 'path'\nimport 'fs/promises'" }),
		).toEqual([
			`${path}:1: ${floor} runs anywhere and imports node:fs`,
			`${path}:2: ${floor} runs anywhere and imports path`,
			`${path}:3: ${floor} runs anywhere and imports fs/promises`,
		])
	})

	test('core has no dependency, not even for its types', () => {
		expect(planted({ 'src/core/a.ts': "import type { Pool } from 'pg'" })).toEqual([
			'src/core/a.ts:1: core has no dependency and imports pg',
		])
	})

	test('an import that is computed counts as one', () => {
		expect(planted({ 'src/core/a.ts': 'await import(name)' })).toEqual([
			'src/core/a.ts:1: core has no dependency and imports an expression',
		])
	})

	test('no floor imports the package by its own name', () => {
		expect(planted({ 'src/http/a.ts': "import 'yaoki/testing'" })).toEqual([
			'src/http/a.ts:1: yaoki/testing is this package: import the file',
		])
	})

	test('the other floors may', () => {
		expect(planted({ 'src/node/a.ts': "import 'node:async_hooks'\nimport type { Pool } from 'pg'" })).toEqual(
			[],
		)
	})
})

describe('time and chance come from the runtime', () => {
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
	test.each(Object.entries(clocks))('%s is found', (what, text) => {
		expect(planted({ 'src/outbox/a.ts': `\n\n${text}` })).toEqual([
			`src/outbox/a.ts:3: ${what} outside of src/core/runtime/system.ts: ask the runtime`,
		])
	})

	test.each([
		'const { setTimeout: later } = globalThis',
		'const { now } = Date',
		"const now = Date['now']",
		'const timers = { setTimeout }',
		"import { setTimeout } from 'node:timers/promises'",
	])('so is one that is only borrowed: %s', (text) => {
		expect(planted({ 'src/outbox/a.ts': text })).toHaveLength(1)
	})

	test('what only looks like one is none', () => {
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
		expect(planted({ 'src/core/a.ts': text })).toEqual([])
	})

	test('the system runtime and the command line may', () => {
		const text = 'Date.now(); setTimeout(run, Math.random())'
		expect(planted({ 'src/core/runtime/system.ts': text, 'src/cli/main.ts': text })).toEqual([])
	})
})

describe('no files import each other in a ring', () => {
	test('two', () => {
		expect(
			planted({
				'src/core/a.ts': "import './b.ts'",
				'src/core/b.ts': "\nimport type { A } from './a.ts'",
			}),
		).toEqual(['src/core/b.ts:2: an import cycle: src/core/a.ts -> src/core/b.ts -> src/core/a.ts'])
	})

	test('three, entered from outside', () => {
		expect(
			planted({
				'src/core/index.ts': "export { a } from './x/a.ts'",
				'src/core/x/a.ts': "import '../y/b.ts'",
				'src/core/y/b.ts': "import './c.ts'",
				'src/core/y/c.ts': "import '../x/a.ts'",
			}),
		).toEqual([
			'src/core/y/c.ts:1: an import cycle: src/core/x/a.ts -> src/core/y/b.ts -> src/core/y/c.ts -> src/core/x/a.ts',
		])
	})

	test('but a diamond is no ring', () => {
		expect(
			planted({
				'src/core/a.ts': "import './b.ts'\nimport './c.ts'",
				'src/core/b.ts': "import './d.ts'",
				'src/core/c.ts': "import './d.ts'",
				'src/core/d.ts': '',
			}),
		).toEqual([])
	})
})

test('a line is counted right after letters that take several bytes', () => {
	expect(planted({ 'src/core/a.ts': '// 七転び八起き 🙂\n\nDate.now()' })).toEqual([
		'src/core/a.ts:3: Date.now outside of src/core/runtime/system.ts: ask the runtime',
	])
})

test('a file that can not be read is an error and not an empty one', () => {
	expect(() => planted({ 'src/core/a.ts': 'const = 1' })).toThrow('src/core/a.ts')
})
