/** Compares the pages about the outbox with the code. */
import { describe, expect, test } from 'vitest'
import { yaoki } from '../../src/cli/commands.ts'
import { createLedger, renderLedger } from '../../src/cli/demo/ledger.ts'
import { GLOBAL_OPTIONS } from '../../src/cli/option-tables.ts'
import { HEADERS_BYTES, KEY_BYTES, NAME_BYTES } from '../../src/outbox/enqueue/fields.ts'
import { migrationsIn } from '../../src/outbox/store/postgres/schema.ts'
import { PLAIN } from '../../src/text/style.ts'
import { blocks, named, page, table, thousands } from './markdown.ts'

const reference = page('docs/guide/outbox-reference.md')
const operations = page('docs/guide/outbox-operations.md')
const stores = page('docs/guide/outbox-stores.md')

const firsts = (rows: readonly (readonly string[])[]): readonly string[] =>
	rows.flatMap(([cell = '']) => named(cell)[0] ?? []).map((name) => name.replace(/\(.*/, ''))

test('the fields of a message have the documented limits', () => {
	const rows = table(reference, 'message field', 'default')
	const limitOf = (field: string) =>
		/At most ([\d,]+) bytes/.exec(rows.find(([cell]) => cell === field)?.[2] ?? '')?.[1]
	for (const field of ['`topic`', '`destination`']) expect(limitOf(field)).toBe(thousands(NAME_BYTES))
	for (const field of ['`key`', '`dedupeKey`']) expect(limitOf(field)).toBe(thousands(KEY_BYTES))
	expect(limitOf('`headers`')).toBe(thousands(HEADERS_BYTES))
})

describe('operations', () => {
	test('grant rights on tables that exist', () => {
		const sql = migrationsIn('yaoki')
			.map((step) => step.sql)
			.join('\n')
		const grants = blocks(stores).find(({ language }) => language === 'sql')?.code ?? ''
		const tables = grants.match(/yaoki\.\w+/g) ?? []
		expect(tables.length).toBeGreaterThan(2)
		for (const name of tables) expect(sql).toContain(`create table "yaoki".${name.slice('yaoki.'.length)} (`)
	})
})

describe('the command line', () => {
	const commandLine = page('docs/guide/command-line.md')

	const documented = (header: string) =>
		firsts(table(commandLine, header)).map((name) => name.replace(/ [A-Z]+$/, ''))
	const isOfInbox = (name: string) => name.startsWith('inbox ')
	const isOfWebhooks = (name: string) => name.startsWith('webhooks ')
	const isOfKeys = (name: string) => name.startsWith('idempotency ')
	const isGenerator = (name: string) => name.startsWith('gen ')
	/** Each of these has a section of its own. */
	const tools: readonly string[] = ['simulate', 'schedule', 'lint', 'completion']
	const names = yaoki.commands.map(({ name }) => name).filter((name) => !tools.includes(name))

	test.each(tools)('the command line has a section for %s that shows a call of it', (name) => {
		const [, section = ''] = commandLine.text.split(`\n## ${name}\n`)
		expect(section.split('\n## ')[0]).not.toBe('')
		expect(commandLine.text).toContain(`yaoki ${name} `)
	})

	test('lists each command of the outbox', () => {
		const others = [isOfInbox, isOfWebhooks, isOfKeys, isGenerator]
		expect(documented('command')).toEqual(names.filter((name) => !others.some((isOther) => isOther(name))))
	})

	test('lists each command for inboxes', () => {
		expect(documented('inbox command')).toEqual(names.filter(isOfInbox))
	})

	test('lists each command for webhooks', () => {
		expect(documented('webhooks command')).toEqual(names.filter(isOfWebhooks))
	})

	test('lists each command for operators of Grafana and Prometheus', () => {
		expect(documented('gen command')).toEqual(names.filter(isGenerator))
	})

	test('lists each command for idempotency keys', () => {
		expect(documented('idempotency command')).toEqual(names.filter(isOfKeys))
	})

	test('mentions only options that exist', async () => {
		const commands = await Promise.all(yaoki.commands.map(({ load }) => load()))
		const known = new Set(commands.flatMap(({ options }) => Object.keys(options)).map(flag))
		const others = [
			...['outbox-reference', 'dead-letters', 'relay', 'message-order', 'relay-crashes', 'runbook'],
			...['attempt-log', 'batches', 'http-destination', 'inbox'],
		]
		const operated = others.map((name) => page(`docs/guide/${name}.md`))
		for (const { text, path } of [commandLine, operations, stores, ...operated])
			for (const [, name = ''] of text.matchAll(/--([a-z]+(?:-[a-z]+)*)/g))
				expect([...known, ...Object.keys(GLOBAL_OPTIONS).map(flag)], `${path}: --${name}`).toContain(name)
	})

	const flag = (option: string): string => option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
})

test('the ledger in the guide is one that the demo prints', () => {
	const shown =
		blocks(page('docs/guide/command-line.md')).find(({ code }) => code.includes('received exactly once'))
			?.code ?? ''
	const figures = (label: string): number[] =>
		(
			new RegExp(`^ *${label}.*$`, 'm')
				.exec(shown)?.[0]
				.replaceAll(',', '')
				.match(/(?<![-\w])\d+/g) ?? []
		).map(Number)
	const [committed = 0] = figures('committed')
	const orders = Array.from({ length: committed }, (_, index) => String(index))
	const [, serverErrors = 0, , tooManyRequests = 0, , rejected = 0, hung = 0, outage = 0] =
		figures('injected faults')
	const [byKill = 0] = figures('relay-1')
	const [answered = 0] = figures('to \\d+ of them')
	const ledger = createLedger({
		database: '',
		relays: [],
		committed: orders,
		left: 0,
		dead: 0,
		received: new Map(orders.map((id) => [id, 1])),
		discarded: [],
		rolledBack: figures('rolled back')[0] ?? 0,
		duplicates: figures('duplicates rejected')[0] ?? 0,
		duplicatesByKill: new Map([['relay-1', { answered, unanswered: byKill - answered }]]),
		kills: [{ relay: 'relay-1', unanswered: byKill - answered }],
		faults: { serverErrors, tooManyRequests, rejected, hung, outage },
	})
	expect(renderLedger(ledger, { style: PLAIN, columns: 80 })).toContain(shown.trimEnd())
})
