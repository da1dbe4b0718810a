/** What a queue must implement to be measured; each contender runs in its own process. */
import type pg from 'pg'

/** A small message, identified by `seq`. */
export const ORDER = { orderId: 1_234_567, customer: 'someone@example.com', total: 99.5, lines: [1, 2, 3] }

export interface Body {
	readonly seq: number
}

/** A no-op handler that counts. */
export type Handle = (seq: number) => void

/** What a worker is configured for, with its best documented settings. */
export type Tuning = 'drain' | 'latency'

export interface Peer {
	/** Enqueues `count` messages in batches of 1,000, each in its own transaction. */
	fill(count: number): Promise<void>
	/** Enqueues `count` messages one by one, in one transaction of the user if possible. */
	enqueueEach(count: number): Promise<void>
	/** Enqueues one message and commits; returns the time of the commit's response in nanoseconds. */
	send(seq: number): Promise<number>
	/** Runs until it is stopped. */
	work(handle: Handle, tuning: Tuning): Promise<() => Promise<void>>
	/** Returns true if the queue is empty and everything is acked. */
	isEmpty(): Promise<boolean>
	/** Resets the queue. */
	tidy(): Promise<void>
	/** Vacuums and analyzes after filling, so that no autovacuum runs during the measurement. */
	vacuum(): Promise<void>
	close(): Promise<void>
}

export const BATCH = 1_000

/** Calls the function with `[from, to)` of each batch of a thousand. */
export async function inBatches(
	count: number,
	enqueue: (from: number, to: number) => Promise<unknown>,
): Promise<void> {
	for (let from = 0; from < count; from += BATCH) await enqueue(from, Math.min(from + BATCH, count))
}

export const bodies = (from: number, to: number): Body[] =>
	Array.from({ length: to - from }, (_, i) => ({ ...ORDER, seq: from + i }))

/** Runs the user's transaction; returns the time of the commit's response. */
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
