/** The command line accepts each command that the page shows, and reads what the action says. */
import { expect, test } from 'vitest'
import { findCommand } from '../../../src/cli/command.ts'
import { yaoki } from '../../../src/cli/commands.ts'
import { parseArguments, tokenize } from '../../../src/cli/parse-arguments.ts'
import type { QueueAction } from '../../../src/dashboard/parts.ts'
import { commandOf } from '../../../src/dashboard/queue/commands.ts'

const ID = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'

/** Splits a line as a POSIX shell does: words, single quotes, and escaped characters. */
function shellWords(line: string): string[] {
	const words: string[] = []
	let word: string | undefined
	for (let at = 0; at < line.length; at++) {
		const character = line.charAt(at)
		if (character === ' ') {
			if (word !== undefined) words.push(word)
			word = undefined
		} else if (character === "'") {
			const end = line.indexOf("'", at + 1)
			if (end < 0) throw new Error(`a quote is not closed: ${line}`)
			word = (word ?? '') + line.slice(at + 1, end)
			at = end
		} else if (character === '\\') word = (word ?? '') + line.charAt(++at)
		else if (/[\w@%+=:,./-]/.test(character)) word = (word ?? '') + character
		else throw new Error(`a shell would interpret ${character}: ${line}`)
	}
	return word === undefined ? words : [...words, word]
}

async function parse(action: object) {
	const line = commandOf(action as QueueAction, ' --database ./shop.db') ?? ''
	const [npx, name, ...args] = shellWords(line)
	expect([npx, name]).toEqual(['npx', 'yaoki'])
	const { entry, name: command, rest } = findCommand(args, yaoki.commands)
	if (!entry) throw new Error(`no such command: ${line}`)
	const { options, positionals } = await entry.load()
	const values = parseArguments(tokenize(rest, options), positionals)
	const given = Object.entries(values).filter(
		([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
	)
	return [command, Object.fromEntries(given)] as const
}

const NASTY = `-a 'b' "c" $(d) \`e\` ;&|\n*`
const base = { source: 'orders', reason: NASTY }
const common = { reason: NASTY, database: './shop.db' }

test.each<readonly [object, string, object]>([
	[
		{ action: 'replay', selection: { destination: NASTY, cause: 'expired', from: 0 }, canary: true },
		'outbox replay',
		{ destination: NASTY, cause: 'expired', since: '1970-01-01T00:00:00.000Z', canary: true, timeout: '1m' },
	],
	[
		{ action: 'replay', selection: { fingerprint: '', key: '-k', topic: 't' } },
		'outbox replay',
		{ fingerprint: '', key: '-k', topic: 't', timeout: '1m' },
	],
	[{ action: 'discard', selection: { all: true } }, 'outbox discard', { all: true, yes: true }],
	[{ action: 'discard', selection: { ids: [ID, ID] } }, 'outbox discard', { ids: [ID, ID], yes: true }],
	[{ action: 'expire', selection: { until: 1_000 } }, 'outbox expire', { until: '1970-01-01T00:00:01.000Z' }],
	[{ action: 'resend', id: ID }, 'outbox resend', { id: ID }],
	[
		{ action: 'pause', destination: NASTY, forMs: 1_500 },
		'outbox pause',
		{ destination: NASTY, for: '1500ms' },
	],
	[{ action: 'resume', destination: 'billing' }, 'outbox resume', { destination: 'billing' }],
	[
		{ action: 'close-circuit', destination: NASTY },
		'outbox retry',
		{ destination: NASTY, closeCircuit: true },
	],
	[{ action: 'retry', selection: { ids: [ID] } }, 'outbox retry', { ids: [ID] }],
	[{ action: 'disable-endpoint', id: ID }, 'webhooks disable', { id: ID }],
	[{ action: 'enable-endpoint', id: ID }, 'webhooks enable', { id: ID }],
	[
		{ action: 'resend-endpoint', id: ID, since: 0, perSecond: 2.5 },
		'webhooks resend',
		{ id: ID, since: '1970-01-01T00:00:00.000Z', rate: 2.5 },
	],
])('%j is %s', async (action, name, values) => {
	expect(await parse({ ...base, ...action })).toEqual([name, { ...values, ...common }])
})

test('a test of an endpoint has no reason on the command line', async () => {
	expect(await parse({ ...base, action: 'test-endpoint', id: ID })).toEqual([
		'webhooks test',
		{ id: ID, database: './shop.db' },
	])
})
