/** A relay in its own process. A poison message kills it immediately and without cleanup, as one that exhausts the memory would. */
import { appendFileSync } from 'node:fs'
import { batchDestination, Outbox, Relay, sqliteOutboxStore } from '../../../src/outbox/index.ts'

const [, , file = '', ledger = '', mode = ''] = process.argv

async function handle(payloads: readonly unknown[]): Promise<void> {
	for (const payload of payloads) appendFileSync(ledger, `${payload}\n`)
	if (payloads.includes('poison')) process.kill(process.pid, 'SIGKILL')
	// Long enough for other messages to be in flight when the process crashes.
	await new Promise((resolve) => setTimeout(resolve, 20))
	for (const payload of payloads) appendFileSync(ledger, `${payload} done\n`)
}

const relay = new Relay(new Outbox({ store: sqliteOutboxStore(file) }), {
	destinations: {
		jobs:
			mode === 'batches'
				? batchDestination({
						deliver: async (messages) => handle(messages.map(({ payload }) => payload)),
					})
				: async ({ payload }) => handle([payload]),
	},
	leaseMs: 300,
	pollMs: 50,
	maxConcurrent: 4,
})
await relay.start()
