/** Transactions of users that wait for each other. */
import type pg from 'pg'
import { onTestFinished } from 'vitest'

/** Starts a transaction and takes its snapshot. Its connection is closed after the test. */
export async function begin(pool: pg.Pool, level = 'read committed'): Promise<pg.PoolClient> {
	const client = await pool.connect()
	onTestFinished(() => client.release(true))
	await client.query(`begin isolation level ${level}`)
	await client.query('select 1')
	return client
}

/** Resolves when a statement of the client waits for a lock. */
export async function untilWaiting(pool: pg.Pool, client: pg.PoolClient): Promise<void> {
	const { processID } = client as unknown as { readonly processID: number }
	for (;;) {
		const { rows } = await pool.query('select wait_event_type as "on" from pg_stat_activity where pid = $1', [
			processID,
		])
		if (rows[0]?.on === 'Lock') return
	}
}
