import { isPGlite, type PGliteLike, type PgClient, type PgPool } from './clients.ts'

/**
 * Keeps lost connections of a pool from ending the process: they emit an event, which would end it without a handler. The next query reports the
 * error. Returns a function that removes the handlers.
 */
export function ignorePoolErrors(client: PgPool | PGliteLike): () => void {
	if (isPGlite(client)) return ignoreError
	client.on('error', ignoreError)
	// Covers a connection that is lost between connecting and being handed out.
	client.on('connect', onConnect)
	return () => {
		client.removeListener('error', ignoreError)
		client.removeListener('connect', onConnect)
	}
}

const ignoreError = (): void => {}
const onConnect = (client?: unknown): void => {
	;(client as PgClient).on('error', ignoreError)
}
