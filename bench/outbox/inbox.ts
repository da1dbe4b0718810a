/**
 * What an inbox adds to the transaction of a receiver, which inserts a row and updates another one: the same transaction without and with
 * `once`, in turns, on the same connection and with real commits. A third one inserts the same row by hand and checks nothing: what
 * the database asks for one more statement, and the limit of what an inbox can reach.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { Inbox, postgresInboxStore, sqliteInboxStore } from 'yaoki/outbox'
import { guardedFolder } from '../../test/guard/guard.ts'
import { column, type Report, times } from '../figure.ts'
import { calling, type Row, race } from '../harness.ts'
import { openServer } from './postgres.ts'
import { share } from './servers.ts'

const ROUNDS = 25
const TRANSACTIONS = 400
const MOST = 1.3
const BARE = 'bare transaction'
const BY_HAND = 'with the row by hand'
const ONCE = 'with inbox.once'

const MARK = `insert into TABLE (inbox, message_id, token, processed_at, expires_at) values ($1, $2, $3, $4, $5) on conflict do nothing`
const RETENTION_MS = 2_592_000_000
const markOf = (messageId: string) => ['inbox', messageId, made, Date.now(), Date.now() + RETENTION_MS]

const ITEMS = 1_000
const STOCK = 'create table stock (item int primary key, amount int not null)'
const SHIPMENTS = 'create table shipments (number int not null, item int not null)'

let made = 0
/** Ordered by time, as the ids of an outbox are. */
const nextId = (): string => `019a8f0e-7b4c-7d31-9a52-${(made++).toString(16).padStart(12, '0')}`

const rounds = { rounds: ROUNDS, count: Math.max(10, Math.round(TRANSACTIONS * share)) }

/** Throws if a contender has left something out. Each ran once more, to warm up. */
function checkShipments(counted: unknown): void {
	const expected = 3 * (ROUNDS + 1) * rounds.count
	if (Number(counted) !== expected) throw new Error(`${String(counted)} shipments instead of ${expected}`)
}

async function onPostgres(): Promise<{ readonly about: string; readonly rows: readonly Row[] }> {
	await using server = await openServer()
	const pool = new pg.Pool({ connectionString: await server.database('inbox'), max: 2 })
	const inbox = new Inbox({ store: postgresInboxStore({ client: pool }), purgeEveryMs: 0 })
	try {
		await inbox.migrate()
		await pool.query(`${STOCK}; ${SHIPMENTS}`)
		await pool.query(`insert into stock select n, 1000000 from generate_series(0, ${ITEMS - 1}) as n`)
		const tx = await pool.connect()
		const byHand = MARK.replace('TABLE', 'yaoki.inbox')
		let number = 0
		const effect = async () => {
			const item = ++number % ITEMS
			await tx.query('insert into shipments values ($1, $2)', [number, item])
			await tx.query('update stock set amount = amount - 1 where item = $1', [item])
		}
		const committed = async (work: () => Promise<unknown>) => {
			await tx.query('begin')
			await work()
			await tx.query('commit')
		}
		const contenders = [
			calling(BARE, () => committed(effect)),
			calling(BY_HAND, () =>
				committed(async () => {
					await tx.query({ name: 'mark', text: byHand, values: markOf(nextId()) })
					await effect()
				}),
			),
			calling(ONCE, () => committed(() => inbox.once(nextId(), { tx }, effect))),
		]
		const rows = await race(contenders, rounds)
		checkShipments((await tx.query('select count(*) as counted from shipments')).rows[0].counted)
		tx.release()
		return { about: server.about, rows }
	} finally {
		await inbox.close()
		await pool.end()
	}
}

async function onSqlite(): Promise<readonly Row[]> {
	await using folder = await guardedFolder('yaoki-bench-inbox-')
	const file = join(folder.path, 'shop.db')
	const inbox = new Inbox({ store: sqliteInboxStore(file), purgeEveryMs: 0 })
	await inbox.migrate()
	const db = new DatabaseSync(file)
	try {
		db.exec(`pragma synchronous = full; ${STOCK}; ${SHIPMENTS}`)
		db.exec(
			`with recursive items(item) as (select 0 union all select item + 1 from items where item < ${ITEMS - 1})
			insert into stock select item, 1000000 from items`,
		)
		const insert = db.prepare('insert into shipments values (?, ?)')
		const mark = db.prepare(MARK.replace('TABLE', 'yaoki_inbox').replaceAll('$', '?'))
		const update = db.prepare('update stock set amount = amount - 1 where item = ?')
		let number = 0
		const effect = () => {
			const item = ++number % ITEMS
			insert.run(number, item)
			update.run(item)
		}
		const committed = async (work: () => unknown) => {
			db.exec('begin immediate')
			work()
			db.exec('commit')
		}
		const contenders = [
			calling(BARE, () => committed(effect)),
			calling(BY_HAND, () =>
				committed(() => {
					mark.run(...markOf(nextId()))
					effect()
				}),
			),
			calling(ONCE, () => committed(() => inbox.onceSync(nextId(), { tx: db }, effect))),
		]
		const rows = await race(contenders, rounds)
		checkShipments(db.prepare('select count(*) as counted from shipments').get()?.['counted'])
		return rows
	} finally {
		db.close()
		await inbox.close()
	}
}

const line = ({ name, nanoseconds, ratio }: Row): string =>
	column(name, `${(nanoseconds / 1_000).toFixed(0)} µs`, times(ratio))

const ratioOf = (rows: readonly Row[]): number => rows.find(({ name }) => name === ONCE)?.ratio ?? Number.NaN

export async function outboxInbox(): Promise<Report> {
	const { about, rows: postgres } = await onPostgres()
	const sqlite = await onSqlite()
	const figureOf = (database: string, rows: readonly Row[]) => ({
		figure: `inbox.once on ${database}, relative to the same transaction without it`,
		asked: `at most ${MOST}`,
		measured: ratioOf(rows).toFixed(2),
		reached: ratioOf(rows) <= MOST,
	})
	return {
		title: `Inbox: a receiver's transaction of two statements, one after the other (${about}; SQLite, synchronous full)`,
		lines: ['PostgreSQL:', ...postgres.map(line), 'SQLite:', ...sqlite.map(line)],
		figures: [figureOf('PostgreSQL', postgres), figureOf('SQLite', sqlite)],
		data: { postgres, sqlite },
	}
}
