/** A relay in a process of its own that some messages kill, as one that eats all memory would: at once, and without a word. */
import { appendFileSync } from 'node:fs'
import { Outbox, Relay, sqliteStore } from '../../../src/outbox/index.ts'

const [, , file = '', ledger = ''] = process.argv
const relay = new Relay(new Outbox({ store: sqliteStore(file) }), {
	destinations: {
		jobs: async ({ payload }) => {
			appendFileSync(ledger, `${payload}\n`)
			if (payload === 'poison') process.kill(process.pid, 'SIGKILL')
			// Long enough for other messages to be in flight when the process crashes.
			await new Promise((resolve) => setTimeout(resolve, 20))
			appendFileSync(ledger, `${payload} done\n`)
		},
	},
	...{ leaseMs: 300, pollMs: 50, concurrency: 4 },
})
await relay.start()
