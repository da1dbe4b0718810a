/** A relay in its own process, to be killed. It starts on a message from its parent, so that a loaded one can replace a killed one immediately. */
import { Pool } from 'pg'
import { retryWithBackoff } from 'yaoki'
import { httpDestination, Outbox, postgresOutboxStore, Relay, sqliteOutboxStore } from 'yaoki/outbox'

export interface RelayInput {
	readonly url: string
	readonly leaseMs: number
	readonly maxCrashes: number
	/** Several messages of one key at a time, and default batches, if false. */
	readonly isOrdered?: boolean
	/** A SQLite file, or a PostgreSQL schema. */
	readonly store: { readonly file: string } | { readonly connection: object; readonly schema: string }
}

const input: RelayInput = JSON.parse(process.argv[2] ?? '')
const { isOrdered = true } = input

const destination = httpDestination({
	url: input.url,
	headers: ({ attempts }) => ({ 'x-relay': String(process.pid), 'x-attempt': String(attempts) }),
	order: isOrdered,
})
const store =
	'file' in input.store
		? sqliteOutboxStore(input.store.file)
		: postgresOutboxStore({
				client: new Pool({ ...input.store.connection, max: 4 }).on('error', () => {
					// The harness restarts the server; the relay reconnects by itself.
				}),
				schema: input.store.schema,
			})
const relay = new Relay(new Outbox({ store }), {
	destinations: { '*': destination },
	leaseMs: input.leaseMs,
	maxCrashes: input.maxCrashes,
	...(isOrdered ? { pollMs: 50, maxConcurrent: 8, batchSize: 20 } : {}),
	// Longer than a round may take: a handler that times out may have sent, and that duplicate would need an explanation of its own.
	timeoutMs: 60_000,
	retry: { maxRetries: 50, baseDelayMs: 5, maxDelayMs: 20 },
	circuitBreaker: false,
})
// The database may be restarting.
process.once(
	'message',
	() => void retryWithBackoff(() => relay.start(), { maxRetries: 100, baseDelayMs: 20, maxDelayMs: 200 }),
)
process.once('disconnect', () => process.exit())
process.send?.('ready')
