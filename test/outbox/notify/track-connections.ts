import type { Pool } from 'pg'

/**
 * Waits until all connections of a pool are closed. `pool.end()` resolves earlier, and a server that is stopped in between sends an error to the
 * remaining connections, which nothing handles. Call this before the first query, and the returned function after `pool.end()`.
 */
export function trackConnections(pool: Pool): () => Promise<void> {
	const ends: Promise<unknown>[] = []
	pool.on('connect', (client) => ends.push(new Promise<void>((resolve) => client.once('end', resolve))))
	return async () => {
		await Promise.all(ends)
	}
}
