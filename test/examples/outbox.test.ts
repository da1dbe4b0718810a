/** What the pages about the outbox state is compared with the code. */
import { describe, expect, test } from 'vitest'
import { ledgerOf, ledgerText } from '../../src/cli/demo/ledger.ts'
import { palette } from '../../src/cli/palette.ts'
import { yaoki } from '../../src/cli/registry.ts'
import { KEY_BYTES, NAME_BYTES } from '../../src/outbox/enqueue/fields.ts'
import { migrationsIn } from '../../src/outbox/store/postgres/schema.ts'
import { blocks, named, page, table } from './markdown.ts'
import { membersOf, source, strings, thousands, unquoted } from './sources.ts'

const outbox = page('docs/guide/outbox.md')
const relay = page('docs/guide/relay.md')
const dead = page('docs/guide/dead-letters.md')
const operations = page('docs/guide/outbox-operations.md')
const stores = page('docs/guide/outbox-stores.md')

const firsts = (rows: readonly (readonly string[])[]): readonly string[] =>
	rows.flatMap(([cell = '']) => named(cell)[0] ?? []).map((name) => name.replace(/\(.*/, ''))
const union = (path: string, type: string): readonly string[] =>
	strings(
		// What a comment says may be quoted as well.
		new RegExp(`type ${type} =(.*?)\\n\\n`, 's').exec(source(path))?.[1]?.replaceAll(/\/\*.*?\*\//gs, '') ??
			'',
	)

describe('a message', () => {
	test('has the fields of the table, with their limits', () => {
		const rows = table(outbox, 'message field', 'default')
		expect(firsts(rows)).toEqual(membersOf('outbox/message/message.ts', 'NewMessage'))
		const limitOf = (field: string) =>
			/At most ([\d,]+) bytes/.exec(rows.find(([cell]) => cell === field)?.[2] ?? '')?.[1]
		for (const field of ['`topic`', '`destination`']) expect(limitOf(field)).toBe(thousands(NAME_BYTES))
		for (const field of ['`key`', '`dedupeKey`']) expect(limitOf(field)).toBe(thousands(KEY_BYTES))
		const headers = /HEADERS_BYTES = ([\d_]+)/
			.exec(source('outbox/enqueue/fields.ts'))?.[1]
			?.replace('_', ',')
		expect(limitOf('`headers`')).toBe(headers)
	})

	test('is handed to a handler with what is told', () => {
		const told = named(/The message has.*?\n\n/s.exec(relay.text)?.[0] ?? '')
		expect(told).toEqual(membersOf('outbox/message/message.ts', 'Message'))
	})

	test('is enqueued with the options of the table', () => {
		expect(firsts(table(outbox, 'enqueue option'))).toEqual(
			membersOf('outbox/enqueue/transaction-rule.ts', 'EnqueueOptions'),
		)
	})
})

describe('a relay', () => {
	test('has the events of the table, with their own fields', () => {
		const events = source('outbox/relay/events.ts')
		const names = /type RelayEvent =(.*?)\n\n/s.exec(events)?.[1]?.match(/\w+/g) ?? []
		const members = names.map((name) => {
			const body = events.slice(events.indexOf(`interface ${name} `))
			const types = strings(/type: .*/.exec(body)?.[0] ?? '')
			return [...types, ...membersOf('outbox/relay/events.ts', name).slice(1)]
		})
		expect(members.length).toBeGreaterThan(8)
		const told = table(relay, '`type`', 'when').map(([type = '', , fields = '']) => [
			...named(type),
			...named(fields.replace(/: .*/, '')),
		])
		expect(told).toEqual(members)
		const [, , reasons = ''] =
			table(relay, '`type`', 'when').find(([type]) => type === '`message_released`') ?? []
		expect(named(reasons).slice(1)).toEqual(union('outbox/relay/events.ts', 'ReleaseReason'))
	})

	test('takes the options of retries and breakers that are told', () => {
		const rules = source('outbox/relay/settings.ts')
		const namesOf = (table: string) =>
			strings(new RegExp(`${table}: Rules = named(.*?)\\n\\]\\)`, 's').exec(rules)?.[1] ?? '')
		const breaker = named(/^`breaker` takes.*?, as for/ms.exec(relay.text)?.[0] ?? '').slice(1)
		expect(breaker).toEqual(namesOf('BREAKER_NAMES'))
		const retry = named(/^`retry` takes.*?\n\n/ms.exec(relay.text)?.[0] ?? '')
		const besides = namesOf('RETRY_NAMES').filter((name) => !/Delay|growth|factor|jitter/.test(name))
		expect(retry).toEqual(expect.arrayContaining([...besides]))
	})

	test('has these ways to treat those behind a stuck one', () => {
		const told = table(relay, '`whenStuck`').map(([cell = '']) => unquoted(cell))
		expect(told.sort()).toEqual([...union('outbox/store/rows.ts', 'StuckPolicy')].sort())
	})

	test('sends to a URL by the options of the table', () => {
		expect(firsts(table(relay, 'http destination option'))).toEqual(
			membersOf('outbox/destinations/http-destination.ts', 'HttpDestinationOptions'),
		)
	})
})

describe('dead letters', () => {
	test('have the causes of the table', () => {
		expect(firsts(table(dead, 'cause'))).toEqual(union('outbox/message/message.ts', 'DeathCause'))
	})

	test('are chosen by the filter of the table', () => {
		const fields = membersOf('outbox/store/store.ts', 'Filter')
		expect(firsts(table(dead, 'filter', 'chooses'))).toEqual(fields)
	})

	test('are replayed by the options of the table, and stopped for its reasons', () => {
		const options = 'outbox/dead/options.ts'
		expect(firsts(table(dead, 'replay option', 'default'))).toEqual([
			...membersOf(options, 'BatchOptions'),
			...membersOf(options, 'ReplayOptions'),
		])
		expect(firsts(table(dead, '`stoppedBy`'))).toEqual(union(options, 'ReplayStop'))
		const changes = named(/^that id\. It takes.*?checked/ms.exec(dead.text)?.[0] ?? '')
		expect(changes).toEqual(membersOf(options, 'DeadLetterChanges'))
	})
})

describe('operations', () => {
	test('tell every part of the stats', () => {
		const told = firsts(table(operations, '`stats()`'))
		expect(told).toEqual(membersOf('outbox/insight/stats.ts', 'OutboxStats'))
	})

	test('show the checks that there are', () => {
		const names = strings(/readonly name: .*/.exec(source('cli/outbox/checks.ts'))?.[0] ?? '')
		const shown = blocks(operations).find(({ code }) => code.startsWith('ok '))?.code ?? ''
		expect(shown.split('\n').flatMap((line) => line.split(/ +/)[1] ?? [])).toEqual(names)
	})

	test('give rights on tables that there are', () => {
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

	test('has a line for each command of the outbox', () => {
		const told = firsts(table(commandLine, 'command')).map((name) => name.replace(/ [A-Z]+$/, ''))
		const names = yaoki.commands.map(({ name }) => name).filter((name) => name !== 'simulate')
		expect(told).toEqual(names)
	})

	test('has options of the commands that they are told for', async () => {
		const commands = await Promise.all(yaoki.commands.map(async ({ load }) => (await load()).command))
		const known = new Set(commands.flatMap(({ options }) => Object.keys(options)).map(flag))
		for (const { text, path } of [commandLine, operations, stores])
			for (const [, name = ''] of text.matchAll(/--([a-z]+(?:-[a-z]+)*)/g))
				expect([...known, 'json', 'quiet', 'no-color'], `${path}: --${name}`).toContain(name)
	})

	const flag = (option: string): string => option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
})

test("the README's ledger is one that the demo prints", () => {
	const shown =
		blocks(page('README.md')).find(({ code }) => code.includes('received exactly once'))?.code ?? ''
	const figures = (label: string): number[] =>
		(
			new RegExp(`^ *${label}.*$`, 'm')
				.exec(shown)?.[0]
				.replaceAll(',', '')
				.match(/(?<![-\w])\d+/g) ?? []
		).map(Number)
	const [committed = 0] = figures('committed')
	const orders = Array.from({ length: committed }, (_, index) => String(index))
	const [serverErrors = 0, , , hung = 0, outage = 0] = figures('failed on purpose')
	const [refused = 0] = figures('relay-1')
	const answered = figures('the receiver had answered')[0] ?? 0
	const ledger = ledgerOf({
		...{ database: '', relays: [], committed: orders, left: 0, dead: 0 },
		received: new Map(orders.map((id) => [id, 1])),
		rolledBack: figures('rolled back')[0] ?? 0,
		refused: figures('duplicates refused')[0] ?? 0,
		refusedByKill: new Map([['relay-1', { answered, unanswered: refused - answered }]]),
		kills: [{ relay: 'relay-1', unanswered: refused - answered }],
		faults: { serverErrors, tooMany: 1, hung, outage },
	})
	expect(ledgerText(ledger, { paint: palette(false), columns: 80 })).toContain(shown.trimEnd())
})
