/** Live traffic to an ordered and an unordered destination, over a table with the dead rows of messages that were sent earlier. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Outbox, postgresOutboxStore, Relay } from 'yaoki/outbox'
import { answering } from './answering.ts'
import { DEAD_ROWS, KEYS, scenario } from './held-snapshot-scenarios.ts'
import { committed, ORDER } from './peer.ts'
import { scaled } from './servers.ts'

const EVERY_MS = 5
const MEASURED = 3_000
/** The relay has caught up when this many messages in a row were sent within a second. */
const PROMPT = 100
const PROMPT_MS = 1_000
const PATIENCE_MS = 60_000
const BATCH = 50_000

const [, , , url = ''] = process.argv
const pool = new pg.Pool({ connectionString: url })
const users = new pg.Pool({ connectionString: url, max: 20 })

let opened = 0

/** Writes what sending leaves: an insert, the update of a claim, a delete. */
async function leaveDeadRows(table: string, count: number, keys: number): Promise<void> {
	for (let from = 0; from < count; from += BATCH) {
		await users.query(
			`insert into ${table} (id, destination, topic, key, payload, in_order)
			select gen_random_uuid(), 'ordered', 'ordered', 'key ' || i % $1::int, $2::text, true from generate_series($3::int, $4::int) i`,
			[keys, JSON.stringify(ORDER), from + 1, Math.min(from + BATCH, count)],
		)
		await users.query(`update ${table} set attempts = 1, locked_by = 'relay', locked_at = 1, lease_until = 2`)
		await users.query(`delete from ${table}`)
	}
}

interface Lags {
	readonly ordered: number[]
	readonly unordered: number[]
}

const quantile = (values: readonly number[], share: number): number =>
	[...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.POSITIVE_INFINITY

/** Returns the time until the relay has caught up, then the rate and the lags of the ordered and the unordered messages. */
async function measure(dead: number, keys: number, isHeld: boolean): Promise<number[]> {
	const schema = `held_${++opened}`
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool, schema }) })
	await outbox.migrate()
	const holder = await users.connect()
	await holder.query('begin isolation level repeatable read')
	await holder.query(`select count(*) from ${schema}.outbox`)
	await leaveDeadRows(`${schema}.outbox`, scaled(dead), keys)
	if (!isHeld) {
		await holder.query('commit')
		await users.query(`vacuum analyze ${schema}.outbox`)
	}
	let lags: Lags = { ordered: [], unordered: [] }
	const deliver =
		(name: keyof Lags) =>
		({ payload }: { readonly payload: unknown }) => {
			lags[name].push(Date.now() - (payload as { readonly at: number }).at)
		}
	const ordered = { deliver: deliver('ordered'), order: true }
	const relay = new Relay(outbox, { destinations: { ordered, unordered: deliver('unordered') } })
	const startedAt = performance.now()
	await relay.start()
	let isOver = false
	const sending: Promise<unknown>[] = []
	const send = (topic: keyof Lags, seq: number) =>
		committed(users, (tx) =>
			outbox.enqueue({ topic, payload: { ...ORDER, seq, at: Date.now() }, key: `key ${seq % keys}` }, { tx }),
		)
	const traffic = (async () => {
		for (let seq = 0; !isOver; seq++) {
			const early = startedAt + seq * EVERY_MS - performance.now()
			if (early > 0) await pause(early)
			sending.push(send('ordered', seq), send('unordered', seq))
		}
	})()
	const isPrompt = ({ ordered, unordered }: Lags) =>
		[ordered, unordered].every(
			(all) => all.length >= PROMPT && all.slice(-PROMPT).every((ms) => ms < PROMPT_MS),
		)
	while (!isPrompt(lags) && performance.now() < startedAt + PATIENCE_MS) await pause(10)
	const caughtUpMs = performance.now() - startedAt
	lags = { ordered: [], unordered: [] }
	await pause(MEASURED * EVERY_MS)
	const measured = lags
	isOver = true
	await traffic
	await Promise.all(sending)
	await relay.stop()
	if (isHeld) await holder.query('commit')
	holder.release()
	await pool.query(`drop schema ${schema} cascade`)
	await outbox.close()
	const seconds = (MEASURED * EVERY_MS) / 1_000
	return [measured.ordered, measured.unordered]
		.flatMap((all) => [all.length / seconds, quantile(all, 0.5), quantile(all, 0.99)])
		.concat(caughtUpMs)
}

answering(async () => {
	const taken: Record<string, number[]> = {}
	for (const dead of DEAD_ROWS)
		for (const keys of KEYS)
			for (const isHeld of [false, true])
				taken[scenario(dead, keys, isHeld)] = await measure(dead, keys, isHeld)
	return { nanoseconds: 0, taken }
})
