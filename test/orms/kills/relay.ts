/** Sends the messages of the shop to the ledger. It is killed at random moments. */
import pg from 'pg'
import { httpDestination, Outbox, postgresOutboxStore, Relay } from 'yaoki/outbox'
import { readInput, reportRunning } from './process.ts'

const { url, receiverPort } = readInput()
const outbox = new Outbox({ store: postgresOutboxStore({ client: new pg.Pool({ connectionString: url }) }) })
const relay = new Relay(outbox, {
	destinations: { 'order.placed': httpDestination({ url: `http://127.0.0.1:${receiverPort}/orders` }) },
	// Short, because a test should not wait for a minute after each kill.
	leaseMs: 1_000,
	retry: { baseDelayMs: 50, maxDelayMs: 500, maxRetries: 1_000 },
	circuitBreaker: { resetTimeoutMs: 500, resetBackoff: { initialMs: 100 } },
})
await relay.start()
reportRunning()
