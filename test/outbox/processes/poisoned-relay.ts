/** A relay in its own process. A poison message kills it immediately and without cleanup, as one that exhausts the memory would. */
import { appendFileSync } from 'node:fs'
import { Outbox, Relay, sqliteOutboxStore } from '../../../src/outbox/index.ts'

const [, , file = '', ledger = ''] = process.argv
const relay = new Relay(new Outbox({ store: sqliteOutboxStore(file) }), {
	destinations: {
		jobs: async ({ payload }) => {
			appendFileSync(ledger, `${payload}\n`)
			if (payload === 'poison') process.kill(process.pid, 'SIGKILL')
			// Long enough for other messages to be in flight when the process crashes.
			await new Promise((resolve) => setTimeout(resolve, 20))
			appendFileSync(ledger, `${payload} done\n`)
		},
	},
	leaseMs: 300,
	pollMs: 50,
	maxConcurrent: 4,
})
await relay.start()
