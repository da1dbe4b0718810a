/**
 * The cost of enqueue compared to a bare INSERT of the same row: both write into identical tables, with the same client, in turns, in the user's
 * transaction. The rows are compared, because a smaller row would make the comparison unfair.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'
import { answering } from './answering.ts'
import { BATCH, type Body, bodies, nanoseconds } from './peer.ts'
import { BARE, BARE_ARRAYS, BARE_JSON, BARE_VALUES, YAOKI } from './peers/index.ts'
import { message } from './peers/yaoki.ts'
import { inTurns, type Turn } from './rounds.ts'

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })
const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
await outbox.migrate()
const client = await pool.connect()
await client.query('create schema bare; create table bare.outbox (like yaoki.outbox including all)')

const COLUMNS = 'id, destination, topic, due_at, created_at, payload'
const WIDTH = 6
const group = (row: number): string =>
	`(${Array.from({ length: WIDTH }, (_, i) => `$${row * WIDTH + i + 1}`).join(', ')})`
const insertOf = (rows: number): string =>
	`insert into bare.outbox (${COLUMNS}) values ${Array.from({ length: rows }, (_, row) => group(row)).join(', ')}`
const ONE = insertOf(1)
const MANY = insertOf(BATCH)
const FROM_JSON = `insert into bare.outbox (${COLUMNS})
	select ${COLUMNS} from json_to_recordset($1)
	as rows (id uuid, destination text, topic text, due_at bigint, created_at bigint, payload text)`

const FROM_ARRAYS = `insert into bare.outbox (${COLUMNS})
	select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])`

let made = 0
/** Ordered by time, like the outbox's ids: random ids would be slower for the index. */
function nextId(): string {
	const time = Date.now().toString(16).padStart(12, '0')
	const count = (made++ & 0xfff).toString(16).padStart(3, '0')
	const chance = randomBytes(8).toString('hex')
	return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-8${chance.slice(1, 4)}-${chance.slice(4)}`
}

function valuesOf(body: Body): unknown[] {
	const now = Date.now()
	return [nextId(), 'jobs', 'jobs', now, now, JSON.stringify(body)]
}

function rowOf(body: Body): object {
	const now = Date.now()
	const payload = JSON.stringify(body)
	return { id: nextId(), destination: 'jobs', topic: 'jobs', due_at: now, created_at: now, payload }
}

/** The same rows, column by column. */
function columnsOf(all: readonly Body[]): unknown[][] {
	const rows = all.map(valuesOf)
	return Array.from({ length: WIDTH }, (_, at) => rows.map((row) => row[at]))
}

/** Calls `work` `count` times in one transaction; returns the rate per second, including the commit. */
function turn(name: string, count: number, each: number, work: (from: number) => Promise<unknown>): Turn {
	return {
		name,
		async run() {
			await client.query('truncate yaoki.outbox, bare.outbox')
			const startedAt = nanoseconds()
			await client.query('begin')
			for (let from = 0; from < count; from += each) await work(from)
			await client.query('commit')
			return (count / (nanoseconds() - startedAt)) * 1e9
		},
	}
}

const one = (from: number): Body => bodies(from, from + 1)[0] ?? { seq: from }
const many = (from: number): Body[] => bodies(from, from + BATCH)

const oneAtATime = (count: number): Turn[] => [
	turn(BARE, count, 1, (from) => client.query(ONE, valuesOf(one(from)))),
	turn(YAOKI, count, 1, (from) => outbox.enqueue(message(one(from)), { tx: client })),
]

const batched = (count: number): Turn[] => [
	turn(BARE_VALUES, count, BATCH, (from) => client.query(MANY, many(from).flatMap(valuesOf))),
	turn(BARE_ARRAYS, count, BATCH, (from) => client.query(FROM_ARRAYS, columnsOf(many(from)))),
	turn(BARE_JSON, count, BATCH, (from) => client.query(FROM_JSON, [JSON.stringify(many(from).map(rowOf))])),
	turn(YAOKI, count, BATCH, (from) => outbox.enqueue(many(from).map(message), { tx: client })),
]

/** Returns the columns that have values, with the value if it is the same in all rows. */
async function shapeOf(table: string): Promise<string> {
	const { rows } = await client.query(
		`select string_agg(name || case when name in ('payload', 'topic', 'destination') then '=' || content else '' end, ' ' order by name) as shape
		from (select * from ${table} limit 1) as one, json_each_text(row_to_json(one)) as field (name, content)
		where content is not null`,
	)
	return rows[0].shape
}

async function checkSameRow(): Promise<void> {
	for (const { run } of oneAtATime(1)) await run()
	await client.query(ONE, valuesOf(one(0)))
	const [ours, bare] = [await shapeOf('yaoki.outbox'), await shapeOf('bare.outbox')]
	if (ours !== bare) throw new Error(`the rows differ:\n${ours}\n${bare}`)
}

await checkSameRow()
answering(async ({ call, count }) => {
	const turns = call === 'fill' ? batched(10 * BATCH) : oneAtATime(500)
	await inTurns(turns, 2)
	return { nanoseconds: 0, taken: Object.fromEntries(await inTurns(turns, count)) }
})
