/**
 * PostgreSQL without a library: a table, a claim of a thousand, a delete. No attempts, leases, schedule or events. Its latency is that of a claim
 * immediately after the commit, or after a NOTIFY that follows the commit.
 */
import pg from 'pg'
import {
	BATCH,
	bodies,
	committed,
	exists,
	type Handle,
	inBatches,
	nanoseconds,
	ORDER,
	type Peer,
	vacuum,
} from '../peer.ts'

const TABLE = `
	create table jobs (
		id bigint generated always as identity primary key,
		due_at timestamptz not null default now(),
		attempts int not null default 0,
		locked_by text,
		payload text not null
	);
	create index on jobs (due_at, id)`

const DUE = `select id from jobs where due_at <= now() and locked_by is null
	order by due_at, id limit ${BATCH} for update skip locked`

// An array instead of a join, for which the planner scans the whole table: half as fast here.
const CLAIM = {
	name: 'claim',
	text: `update jobs set attempts = attempts + 1, locked_by = 'me' where id = any(array(${DUE})) returning id, payload`,
}

const DELETE_RETURNING = {
	name: 'take',
	text: `delete from jobs where id = any(array(${DUE})) returning id, payload`,
}

const DELETE = { name: 'delete', text: 'delete from jobs where id = any($1::bigint[])' }

const INSERT = 'insert into jobs (payload) values ($1)'
const INSERT_MANY = 'insert into jobs (payload) select value from json_array_elements_text($1)'

interface Row {
	readonly id: string
	readonly payload: string
}

type Mode =
	/** Claims, commits and deletes after the work. */
	| 'claim'
	/** The same with a delete and a commit per message, as messages in order require. */
	| 'one by one'
	/** Deletes before the work, and loses messages in a crash. */
	| 'together'

export async function raw(url: string, mode: Mode): Promise<Peer> {
	const pool = new pg.Pool({ connectionString: url })
	const client = await pool.connect()
	if (!(await exists(pool, `pg_tables where tablename = 'jobs'`))) await client.query(TABLE)
	let ring: (() => void) | undefined

	/** Claims once and handles the messages; returns their number. */
	async function round(handle: Handle): Promise<number> {
		const { rows } = await client.query<Row>(mode === 'together' ? DELETE_RETURNING : CLAIM)
		for (const { id, payload } of rows) {
			handle(JSON.parse(payload).seq)
			if (mode === 'one by one') await client.query({ ...DELETE, values: [[id]] })
		}
		if (rows.length && mode === 'claim') await client.query({ ...DELETE, values: [rows.map(({ id }) => id)] })
		return rows.length
	}

	return {
		fill: (count) =>
			inBatches(count, (from, to) =>
				pool.query(INSERT_MANY, [JSON.stringify(bodies(from, to).map((body) => JSON.stringify(body)))]),
			),
		async enqueueEach(count) {
			await committed(pool, async (tx) => {
				for (let seq = 0; seq < count; seq++) await tx.query(INSERT, [JSON.stringify({ ...ORDER, seq })])
			})
		},
		async send(seq) {
			await committed(pool, (tx) => tx.query(INSERT, [JSON.stringify({ ...ORDER, seq })]))
			const at = nanoseconds()
			if (ring) ring()
			else await pool.query(`select pg_notify('jobs', '')`)
			return at
		},
		async work(handle, tuning) {
			if (tuning === 'drain') {
				while (await round(handle)) {}
				return async () => {}
			}
			let isRunning = false
			let isRung = false
			ring = () => {
				isRung = true
				if (!isRunning) void run()
			}
			const run = async () => {
				isRunning = true
				while (isRung) {
					isRung = false
					await round(handle)
				}
				isRunning = false
			}
			const ears = await pool.connect()
			ears.on('notification', () => ring?.())
			await ears.query('listen jobs')
			return async () => {
				ring = undefined
				ears.release(true)
			}
		},
		isEmpty: async () => !(await exists(pool, 'jobs')),
		async tidy() {
			await pool.query('truncate jobs')
		},
		vacuum: () => vacuum(pool),
		async close() {
			client.release()
			await pool.end()
		},
	}
}
