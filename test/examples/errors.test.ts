/** Compares the index of errors and warnings with the code. Codes that are types are compared by documented-types.ts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { describe, expect, test } from 'vitest'
import { type Node, walk } from '../../scripts/syntax-node.ts'
import { EXIT_CODES } from '../../src/cli/errors.ts'
import { entriesOf, page, ROOT } from './markdown.ts'

const errors = page('docs/guide/errors.md')
const headings = (section: string): readonly string[] =>
	entriesOf(errors, section).map(({ heading }) => heading)

/** The file, how often it prints, and the entries about it. */
type Printed = readonly [file: string, calls: number, ...entries: readonly string[]]

const ON_CONSOLE: readonly Printed[] = [
	['core/keyed/registry.ts', 1, 'Evicted key'],
	['core/options/hooks.ts', 1, 'A hook failed'],
	['grpc/grpc-js/channel-retries.ts', 1, 'Retries in the channel'],
	['grpc/grpc-js/channel-watch.ts', 1, 'Call without interceptor'],
	['http/server/responses.ts', 2, 'A request handler failed'],
	['idempotency/engine/setup-errors.ts', 1, 'Idempotency store not set up'],
	['outbox/inbox/store/sqlite/sqlite-store.ts', 1, 'Shared SQLite transaction of an inbox'],
	['outbox/outbox-options.ts', 1, 'Message outside a transaction', 'Shared SQLite transaction'],
	['outbox/relay/destination-state.ts', 1, 'Foreign message in a report'],
	['sql/postgres-options.ts', 1, 'Pooler loses prepared statements'],
	['sql/purge-schedule.ts', 1, 'Expired keys not deleted'],
	['sql/two-copies.ts', 1, 'Two copies of SQLite'],
	['telemetry/observe/report.ts', 2, 'Telemetry problem'],
]

const ON_COMMAND_LINE: readonly Printed[] = [
	// It passes warnings on.
	['cli/io.ts', 1],
	// The warnings of an outbox, which are in the other list.
	['cli/outbox/open-outbox.ts', 1],
	['cli/outbox/pause-commands.ts', 1, 'Unknown destination'],
	['cli/simulate/run-study.ts', 2, 'Output file not written', 'Event limit reached'],
	['cli/user-files.ts', 1, 'Secret file readable by others'],
]

/** The files that may print, and the one with the responses. */
const sources: readonly (readonly [file: string, program: unknown])[] = readdirSync(join(ROOT, 'src'), {
	recursive: true,
	encoding: 'utf8',
})
	.filter((file) => file.endsWith('.ts'))
	.map((file) => [file.replaceAll('\\', '/'), readFileSync(join(ROOT, 'src', file), 'utf8')] as const)
	.filter(([, text]) => text.includes('console.') || text.includes('warn('))
	.map(([file, text]) => [file, parseSync(file, text).program])

/** Returns the files with calls for which the condition holds, and their number. */
function findCalls(
	isPrinting: (callee: Node, file: string) => boolean,
): readonly (readonly [string, number])[] {
	return sources
		.map(([file, program]) => {
			let calls = 0
			walk(program, ({ type, callee }) => {
				if (type === 'CallExpression' && isPrinting(callee as Node, file)) calls++
			})
			return [file, calls] as const
		})
		.filter(([, calls]) => calls > 0)
		.sort()
}

const nameOf = (node: unknown): unknown => Object(node).name

describe('the index of errors and warnings', () => {
	test('the index of errors and warnings has every error code, with its class and the entry that exports it', () => {
		const lines = readFileSync(join(ROOT, 'test/surface/codes.txt'), 'utf8').trim().split('\n').slice(1)
		const expected = lines.map((line) => {
			const [code = '', className = '', ...entry] = line.split(' ')
			const exported = className === 'YaokiError' || entry.join(' ') === 'not exported' ? [] : entry
			const from = exported.map((name) => `\`${name.replace(',', '')}\``).join(', ')
			return [code, `\`${className}\`${from && ` of ${from}`}.`]
		})
		const documented = entriesOf(errors, 'Error codes').map(({ heading, text }, index) => {
			const start = expected[index]?.[1] ?? ''
			return [heading, text.startsWith(`${start} `) ? start : text.split('\n')[0]]
		})
		expect(documented).toEqual(expected)
	})

	test('the index of errors and warnings has every exit code', () => {
		expect(headings('Exit codes')).toEqual(Object.values(EXIT_CODES).map(([code]) => `Exit code ${code}`))
	})

	test('the index of errors and warnings has every response that a wrapper of a server creates', () => {
		const [, program] = sources.find(([file]) => file === 'http/server/responses.ts') ?? []
		const found: string[] = []
		walk(program, ({ type, id, init }) => {
			if (type !== 'VariableDeclarator') return
			if (nameOf(Object(id).typeAnnotation?.typeAnnotation?.typeName) !== 'PlainResponse') return
			const values = Object.fromEntries(
				Object(init).properties.map(({ key, value }: Record<string, unknown>) => [
					nameOf(key),
					Object(value).value,
				]),
			)
			found.push(`${values['status']} ${JSON.parse(values['body']).error}`)
		})
		expect(headings('Responses of servers')).toEqual(found.sort())
	})

	test('the index of errors and warnings has every console warning', () => {
		const printing = findCalls(
			({ type, object, property }) =>
				type === 'MemberExpression' &&
				nameOf(object) === 'console' &&
				['warn', 'error'].includes(String(nameOf(property))),
		)
		expect(printing).toEqual(ON_CONSOLE.map(([file, calls]) => [file, calls]))
		expect([...headings('Console warnings')].sort()).toEqual(ON_CONSOLE.flatMap(([, , ...all]) => all).sort())
	})

	test('the index of errors and warnings has every warning of the command line', () => {
		const warning = findCalls(
			(callee, file) => file.startsWith('cli/') && nameOf(callee['property'] ?? callee) === 'warn',
		)
		expect(warning).toEqual(ON_COMMAND_LINE.map(([file, calls]) => [file, calls]))
		expect([...headings('Warnings of the command line')].sort()).toEqual(
			ON_COMMAND_LINE.flatMap(([, , ...all]) => all).sort(),
		)
	})

	test('says for each entry what it means, the usual cause and what to do', () => {
		for (const { heading, text } of entriesOf(errors)) {
			const [meaning = '', cause = '', action = '', ...more] = text.split('\n').filter((line) => line !== '')
			const isComplete =
				!meaning.startsWith('- ') &&
				cause.startsWith('- **Usual cause:** ') &&
				action.startsWith('- **What to do:** ')
			expect([heading, isComplete, more]).toEqual([heading, true, []])
		}
	})

	test('the index of errors and warnings has no heading twice, because its anchor would change', () => {
		const all = errors.text.split('\n').filter((line) => line.startsWith('#'))
		const anchors = all.map((line) => line.slice(line.indexOf(' ') + 1).toLowerCase())
		expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([])
	})
})
