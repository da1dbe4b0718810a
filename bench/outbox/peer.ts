/** What is asked of a queue to be measured; each contender is one of these, in a process of its own. */
import type pg from 'pg'

/** A message as small as most are. `seq` tells which it is. */
export const ORDER = { orderId: 1_234_567, customer: 'someone@example.com', total: 99.5, lines: [1, 2, 3] }

export interface Body {
	readonly seq: number
}

/** A no-op, except that it counts. */
export type Handle = (seq: number) => void

/** For what a worker is set up: its best documented settings for that. */
export type Tuning = 'drain' | 'latency'

export interface Peer {
	/** Enqueues so many in batches of 1,000, each in a transaction that is committed. */
	fill(count: number): Promise<void>
	/** Enqueues so many one after the other, in one transaction where it can be the user's own. */
	enqueueEach(count: number): Promise<void>
	/** Enqueues one and commits; answers when the commit was answered, in nanoseconds. */
	send(seq: number): Promise<number>
	/** Works until it is told to stop. */
	work(handle: Handle, tuning: Tuning): Promise<() => Promise<void>>
	/** Is nothing left, and everything that was handled written down as done? */
	isEmpty(): Promise<boolean>
	/** Makes the queue as good as new: empty, and nothing left of what was done. */
	tidy(): Promise<void>
	/** After filling: no vacuum shall come by in the middle of a run, and plans shall know the table. */
	vacuum(): Promise<void>
	close(): Promise<void>
}

export const BATCH = 1_000

/** Calls with `[from, to)` of each batch of a thousand. */
export async function inBatches(
	count: number,
	enqueue: (from: number, to: number) => Promise<unknown>,
): Promise<void> {
	for (let from = 0; from < count; from += BATCH) await enqueue(from, Math.min(from + BATCH, count))
}

export const bodies = (from: number, to: number): Body[] =>
	Array.from({ length: to - from }, (_, i) => ({ ...ORDER, seq: from + i }))

/** The user's own transaction; answers when the commit was answered. */
export async function committed(
	pool: pg.Pool,
	work: (client: pg.PoolClient) => Promise<unknown>,
): Promise<number> {
	const client = await pool.connect()
	try {
		await client.query('begin')
		await work(client)
		await client.query('commit')
		return nanoseconds()
	} finally {
		client.release()
	}
}

/** The system's monotonic clock, the same for all processes. */
export const nanoseconds = (): number => Number(process.hrtime.bigint())

export async function vacuum(pool: pg.Pool): Promise<void> {
	await pool.query('vacuum analyze')
}

export async function exists(pool: pg.Pool, from: string): Promise<boolean> {
	return (await pool.query(`select exists (select from ${from}) as "is"`)).rows[0].is
}
