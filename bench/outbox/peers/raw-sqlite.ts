/**
 * SQLite without a library: a table with the indexes of a queue, a claim of a thousand, a delete of the previous thousand in the same commit. The rows
 * are marked and deleted by their range of numbers, which is the fastest way.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { BATCH, bodies, inBatches, nanoseconds, ORDER, type Peer } from '../peer.ts'

const TABLE = `
	pragma journal_mode = wal;
	pragma synchronous = full;
	create table jobs (
		seq integer primary key autoincrement,
		id text not null unique,
		destination text not null,
		due_at integer not null,
		lease_until integer,
		locked_by text,
		attempts integer not null default 0,
		payload text not null
	);
	create index due on jobs (destination, due_at, seq)`

const DUE = `select seq, payload from jobs indexed by due
	where destination = 'jobs' and due_at <= ?1 and (lease_until is null or lease_until <= ?1) order by due_at, seq limit ${BATCH}`

export async function rawOnSqlite(file: string): Promise<Peer> {
	const database = new DatabaseSync(file)
	database.exec(TABLE)
	const insert = database.prepare(
		"insert into jobs (id, destination, due_at, payload) values (?, 'jobs', ?, ?)",
	)
	const due = database.prepare(DUE)
	due.setReturnArrays(true)
	const mark = database.prepare(
		"update jobs set attempts = attempts + 1, locked_by = 'me', lease_until = ? where seq between ? and ?",
	)
	const remove = database.prepare("delete from jobs where seq between ? and ? and locked_by = 'me'")
	const left = database.prepare('select exists (select 1 from jobs) as "is"')
	const inTransaction = (work: () => void): number => {
		database.exec('begin immediate')
		work()
		database.exec('commit')
		return nanoseconds()
	}
	const add = (seq: number) => insert.run(randomUUID(), Date.now(), JSON.stringify({ ...ORDER, seq }))
	return {
		fill: (count) =>
			inBatches(count, async (from, to) => {
				inTransaction(() => {
					for (const { seq } of bodies(from, to)) add(seq)
				})
			}),
		async enqueueEach(count) {
			inTransaction(() => {
				for (let seq = 0; seq < count; seq++) add(seq)
			})
		},
		send: async (seq) => inTransaction(() => add(seq)),
		async work(handle) {
			for (let done: [number, number] | undefined; ; ) {
				let rows: [number, string][] = []
				inTransaction(() => {
					if (done) remove.run(...done)
					const now = Date.now()
					rows = due.all(now) as unknown[] as typeof rows
					const [first, last] = [rows[0]?.[0], rows.at(-1)?.[0]]
					done = first === undefined || last === undefined ? undefined : [first, last]
					if (done) mark.run(now + 60_000, ...done)
				})
				if (rows.length === 0) return async () => {}
				for (const [, payload] of rows) handle(JSON.parse(payload).seq)
			}
		},
		isEmpty: async () => left.get()?.['is'] === 0,
		async tidy() {
			database.exec('delete from jobs')
		},
		async vacuum() {
			database.exec('analyze')
		},
		async close() {
			database.close()
		},
	}
}
