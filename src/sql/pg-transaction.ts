import { YaokiError } from '../core/errors/errors.ts'
import type { PgClient } from './clients.ts'
import { isLostStatement } from './postgres-errors.ts'

/** Runs `work` in a transaction that the text `begin` starts, on a connection that is released afterwards. */
export async function inPgTransaction<T>(
	connecting: Promise<PgClient>,
	begin: string,
	work: (client: PgClient) => Promise<T>,
): Promise<T> {
	const client = await connecting
	let isBroken = false
	// A connection lost between two statements emits an event, and without a handler that ends the process.
	const onError = () => {
		isBroken = true
	}
	client.on('error', onError)
	try {
		await client.query(begin)
		const result = await work(client)
		const committed: object = await client.query('commit')
		// The server's response to a commit after an error that `work` has caught.
		if ((committed as { readonly command?: unknown }).command === 'ROLLBACK')
			throw new YaokiError(
				'YAOKI_TRANSACTION_ROLLED_BACK',
				'The transaction was rolled back, because one of its statements had failed',
			)
		return result
	} catch (error) {
		await client.query('rollback').catch(() => {
			isBroken = true
		})
		throw error
	} finally {
		client.release(isBroken)
		client.removeListener('error', onError)
	}
}

/**
 * Runs `run` once more if a pooler has lost a prepared statement. The error ends a transaction, which has written
 * nothing. The executor that met the error no longer prepares statements, so it does not occur again.
 */
export async function againIfLost<T>(run: () => Promise<T>): Promise<T> {
	try {
		return await run()
	} catch (error) {
		if (!isLostStatement(error)) throw error
		return run()
	}
}
