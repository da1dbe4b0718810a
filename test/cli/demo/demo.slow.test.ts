import { existsSync, readdirSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FailedCalls, MessagesPage, Overview } from '../../../src/dashboard/contract.ts'
import { eventually } from '../../support/eventually.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'
import { MAIN, Spawned, urlAfter } from '../spawned.ts'

/** Each demo starts three processes on a machine that may be busy. */
const LONG = 90_000

const demo = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
	new Spawned(MAIN, ['demo', ...args], { env })

const isAlive = (pid: number): boolean => {
	try {
		return process.kill(pid, 0)
	} catch {
		return false
	}
}

const pidsIn = (stderr: string): readonly number[] =>
	[...stderr.matchAll(/is process (\d+)/g)].map(([, pid]) => Number(pid))

test(
	'the demo ends with a ledger that balances, and leaves no file and no process',
	async () => {
		const { code, stdout, stderr } = await run(['demo', '--seconds', '6', '--json'])
		expect(code, stderr).toBe(0)
		const ledger = JSON.parse(stdout)
		expect(ledger).toMatchObject({ balances: true, lost: [], repeated: [], phantom: [], left: 0, dead: 0 })
		expect(ledger.committed).toBeGreaterThan(0)
		expect(ledger.receivedOnce).toBe(ledger.committed)
		expect(ledger.rolledBack).toBeGreaterThan(0)
		expect(ledger.kills).toHaveLength(1)
		expect(ledger.relays).toHaveLength(3)
		for (const count of Object.values(ledger.faults)) expect(count).toBeGreaterThan(0)
		expect(ledger.relays.filter(({ pid }: { pid: number }) => isAlive(pid))).toEqual([])
		expect(ledger.database).toMatch(/^SQLite in /)
		expect(existsSync(ledger.database.replace('SQLite in ', ''))).toBe(false)
		expect(stderr).toContain('the receiver goes down')
		const replayed = [...stderr.matchAll(/ (\d+) dead letters? replayed: the receiver accepts/g)]
		expect(replayed.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(3)
		expect(stderr).toMatch(/relay-\d \(process \d+\) was killed with SIGKILL during .*; relay-3 replaces it/)
	},
	LONG,
)

test.skipIf(process.platform === 'win32')(
	'the dashboard shows dead letters and an outage that a user starts, and ends with the demo',
	async () => {
		const child = demo(['--seconds', '600'])
		await child.prints('end it: curl -X DELETE')
		const url = urlAfter('until the end of the demo: ', child.stderr)
		const outage = urlAfter('curl -X PUT ', child.stderr)
		const overview = async (): Promise<Overview> => (await fetch(`${url}_yaoki/api/overview`)).json()
		await eventually(async () => expect((await overview()).outboxes[0]?.destinations[0]?.dead.count).toBe(3))
		const found: MessagesPage = await (await fetch(`${url}_yaoki/api/messages?status=dead`)).json()
		expect(found.messages).toMatchObject(Array(3).fill({ destination: 'orders', cause: 'permanent' }))

		await fetch(outage, { method: 'PUT' })
		await eventually(async () => expect((await overview()).circuits[0]?.state).not.toBe('closed'))
		const { circuits, outboxes, problems, process: shown } = await overview()
		expect(circuits[0]?.source).toBe('stock')
		expect(problems.map(({ source }) => source)).toContain('stock')
		expect(outboxes[0]?.destinations[0]?.destination).toBe('orders')
		expect(outboxes[0]?.relays.length).toBeGreaterThan(0)
		expect(shown.pid).toBe(child.process.pid)
		const calls: FailedCalls = await (await fetch(`${url}_yaoki/api/calls?source=stock`)).json()
		expect(calls.calls.length).toBeGreaterThan(0)
		await fetch(outage, { method: 'DELETE' })
		await eventually(async () => expect((await overview()).circuits[0]?.state).toBe('closed'))

		child.process.kill('SIGINT')
		const { code, stderr } = await child.ended()
		expect(code, stderr).toBe(130)
		expect(stderr).toContain('3 dead letters replayed')
		await expect(fetch(url)).rejects.toThrow()
	},
)

describe.skipIf(process.platform === 'win32')('a demo that is ended early', () => {
	test(
		'a demo that Ctrl-C ends delivers pending messages and prints the ledger; a relay that a user kills is replaced',
		async () => {
			const temporary = temporaryFolder()
			const child = demo(['--seconds', '600'], { TMPDIR: temporary })
			await child.prints('received 1')
			const [first = 0] = pidsIn(child.stderr)
			process.kill(first, 'SIGKILL')
			await child.prints('relay-3 replaces it')
			child.process.kill('SIGINT')
			const { code, stdout, stderr } = await child.ended()
			expect(code, stderr).toBe(130)
			expect(stdout).toContain('The ledger balances: committed = received exactly once.')
			expect(pidsIn(stderr).filter(isAlive)).toEqual([])
			expect(readdirSync(temporary)).toEqual([])
		},
		LONG,
	)

	test(
		'a demo that SIGKILL ends leaves no relay process',
		async () => {
			const child = demo(['--seconds', '600'], { TMPDIR: temporaryFolder() })
			await child.prints('received 1')
			child.process.kill('SIGKILL')
			const { stderr } = await child.ended()
			expect(pidsIn(stderr)).toHaveLength(2)
			await expect.poll(() => pidsIn(stderr).filter(isAlive), { timeout: 120_000 }).toEqual([])
		},
		LONG,
	)
})

test.skipIf(process.platform === 'win32')(
	'SIGTERM cleans up, and the exit code is that of the ledger',
	async () => {
		const temporary = temporaryFolder()
		const child = demo(['--seconds', '600'], { TMPDIR: temporary })
		await child.prints('received 1')
		child.process.kill('SIGTERM')
		const { code, stdout, stderr } = await child.ended()
		expect(code, stderr).toBe(0)
		expect(stdout).toContain('The ledger balances')
		expect(readdirSync(temporary)).toEqual([])
	},
	LONG,
)

test('rejects a database other than PostgreSQL, without its password', async () => {
	const { code, stderr } = await run(['demo', '--database', 'mysql://ada:hunter2@db/shop'])
	expect(code).toBe(2)
	expect(stderr).toContain('Invalid option "--database": expected postgres://')
	expect(stderr).not.toContain('hunter2')
})

test('exits with 5 for an unreachable PostgreSQL', async () => {
	const { code, stderr } = await run(['demo'], { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop' })
	expect(code).toBe(5)
	expect(stderr).toContain('Cannot reach postgres://ada@127.0.0.1:1/shop')
	expect(stderr).not.toContain('hunter2')
})

describe('with DATABASE_URL', () => {
	let database: PostgresDatabase
	beforeAll(async () => {
		database = await postgresDatabase()
	}, LONG)
	afterAll(() => database[Symbol.asyncDispose]())

	test(
		'runs on that PostgreSQL and leaves nothing in it',
		async () => {
			const ran = await run(['demo', '--seconds', '6', '--json'], { DATABASE_URL: database.url })
			expect(ran.code, ran.stderr).toBe(0)
			const ledger = JSON.parse(ran.stdout)
			expect(ledger).toMatchObject({ balances: true, kills: [{}] })
			expect(ledger.database).toMatch(/^postgres:\/\/.*schema yaoki_demo_/)
			const client = new pg.Client(database.connection)
			await client.connect()
			const { rows } = await client.query("select nspname from pg_namespace where nspname like 'yaoki%'")
			await client.end()
			expect(rows).toEqual([])
		},
		LONG,
	)
})
