import type pg from 'pg'

const ignore = () => {}

export async function inTransaction(
	pool: pg.Pool,
	work: (tx: pg.PoolClient) => Promise<unknown>,
): Promise<void> {
	const client = await pool.connect()
	// Without it, the process crashes if PostgreSQL stops during a transaction: the pool handles the errors of idle clients only.
	client.on('error', ignore)
	try {
		await client.query('begin')
		await work(client)
		await client.query('commit')
	} catch (error) {
		await client.query('rollback').catch(() => {})
		throw error
	} finally {
		client.off('error', ignore)
		client.release()
	}
}
