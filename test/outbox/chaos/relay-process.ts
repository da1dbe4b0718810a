/** A relay in a process of its own, to be killed. It waits until it is told to begin, so that a fresh one is at hand when another dies. */
import { Pool } from 'pg'
import { retryWithBackoff } from 'yaoki'
import { httpDestination, Outbox, postgresStore, Relay, sqliteStore } from 'yaoki/outbox'

export interface RelayOrder {
	readonly url: string
	readonly leaseMs: number
	/** A file of SQLite, or a schema of PostgreSQL. */
	readonly store: { readonly file: string } | { readonly connection: object; readonly schema: string }
}

const order: RelayOrder = JSON.parse(process.argv[2] ?? '')
const send = (message: object) => process.send?.(message)

const destination = httpDestination({
	url: order.url,
	headers: () => ({ 'x-relay': String(process.pid) }),
	order: true,
})
const store =
	'file' in order.store
		? sqliteStore(order.store.file)
		: postgresStore({
				client: new Pool({ ...order.store.connection, max: 4 }).on('error', () => {
					// The server was restarted: the relay notices by itself.
				}),
				schema: order.store.schema,
			})
const relay = new Relay(new Outbox({ store }), {
	destinations: { '*': destination },
	...{ leaseMs: order.leaseMs, pollMs: 50, concurrency: 8, batchSize: 20, timeoutMs: 5_000 },
	retry: { maxRetries: 50, baseDelayMs: 5, maxDelayMs: 20 },
	breaker: false,
	onEvent: (event) => {
		if (event.type === 'lease_lost') send({ type: 'lost', id: event.id })
	},
})
// The database may be away just now.
process.once(
	'message',
	() => void retryWithBackoff(() => relay.start(), { maxRetries: 100, baseDelayMs: 20, maxDelayMs: 200 }),
)
process.once('disconnect', () => process.exit())
send({ type: 'ready' })
