/** Runs the commands of the alerting section, and compares their output with the page. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DATABASE_OPTIONS } from '../../src/cli/database/database-target.ts'
import { check } from '../../src/cli/outbox/check-command.ts'
import { Outbox, sqliteOutboxStore } from '../../src/outbox/index.ts'
import { toStoredError } from '../../src/outbox/message/stored-error.ts'
import { beat, claim, enqueue, killMessages } from '../cli/outbox/fixtures.ts'
import { run } from '../cli/outbox/run-yaoki.ts'
import { temporaryFolder } from '../support/temporary-file.ts'
import { blocks, named, page, table } from './markdown.ts'

const operations = page('docs/guide/outbox-operations.md')
const reference = page('docs/guide/outbox-reference.md')

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An outbox in the state that the page describes: a destination that fails, a blocked key, a killed relay. */
async function brokenOutbox(): Promise<string> {
	const file = join(temporaryFolder(), 'shop.db')
	let offsetMs = 0
	const outbox = new Outbox({ store: sqliteOutboxStore({ file, clock: () => Date.now() + offsetMs }) })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	offsetMs = -5 * HOUR
	await enqueue(outbox, 'billing', 12)
	const error = toStoredError(new Error('HTTP 503'))
	for (let n = 1; n <= 15; n++) {
		const inMs = n === 15 ? 6 * HOUR : 0
		const rows = await claim(outbox.store, 'billing')
		const settlements = rows.map(
			({ id, attempt }) => ({ type: 'retry', id, attempt, inMs, delayMs: null, error }) as const,
		)
		await outbox.store.settle('some-relay', settlements, false)
	}
	offsetMs = -20 * MINUTE
	await enqueue(outbox, 'warehouse', 1, { key: 'order-17' })
	await killMessages(outbox.store, 'warehouse', new TypeError('no such product'), 'permanent', 'block')
	await beat(outbox.store)
	offsetMs = -3 * MINUTE
	await enqueue(outbox, 'warehouse', 299, { key: 'order-17' })
	return file
}

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

test('the commands for Kubernetes and cron print the documented lines and exit with 4', async () => {
	const all = blocks(operations)
	const yaml = all.find(({ language }) => language === 'yaml')?.code ?? ''
	const forKubernetes = (/command: \[(.*)\]/.exec(yaml)?.[1] ?? '').replaceAll("'", '').split(', ')
	const crontab = all.find(({ code }) => code.startsWith('# crontab'))
	const forCron = (/\$\((.*)\)/.exec(crontab?.code ?? '')?.[1] ?? '').split(' ')
	const file = await brokenOutbox()
	for (const [npx, yaoki, ...args] of [forKubernetes, forCron]) {
		expect([npx, yaoki]).toEqual(['npx', 'yaoki'])
		const { code, stdout } = await run(args, { DATABASE_URL: file })
		expect(code).toBe(4)
		expect(stdout.replaceAll(UUID, 'ID')).toBe(crontab?.prints?.replaceAll(UUID, 'ID'))
	}
})

test('the result with --json has the documented fields', async () => {
	const { stdout } = await run(['outbox', 'check', '--json'], { DATABASE_URL: await brokenOutbox() })
	const result = JSON.parse(stdout) as { checks: object[] }
	const passage = /^With `--json`.*?\n\n/ms.exec(reference.text)?.[0] ?? ''
	const [, fields = '', ...names] = named(passage)
	expect(fields).toBe(`{ ${Object.keys(result).join(', ')} }`)
	for (const one of result.checks) expect(names).toEqual(Object.keys(one))
})

test('the table of checks names every option with its default', async () => {
	const documented = table(reference, 'check', 'fails if').flatMap(([, , option = '', standard = '']) =>
		option === '' ? [] : [[named(option)[0], named(standard)[0] ?? 'depends']],
	)
	const options = Object.entries(check.options).filter(([name]) => !(name in DATABASE_OPTIONS))
	const flags = options.map(([name, option]) => [
		`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
		'default' in option ? String(option.default) : 'depends',
	])
	expect(documented.sort()).toEqual(flags.sort())
})
