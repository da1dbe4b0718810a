import type { Pool } from 'pg'

/**
 * `pool.end()` answers before its connections are closed, and a server that is stopped in that moment tells them so, which nobody hears: an
 * error that is uncaught. Call it before the first query, and what it answers after `pool.end()`.
 */
export function endsOf(pool: Pool): () => Promise<void> {
	const ends: Promise<unknown>[] = []
	pool.on('connect', (client) => ends.push(new Promise<void>((resolve) => client.once('end', resolve))))
	return async () => {
		await Promise.all(ends)
	}
}
