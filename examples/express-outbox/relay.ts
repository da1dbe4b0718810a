/** Sends the messages of the outbox to the mail service. With `node relay.ts crash` the process dies after its first delivery. */
import { httpDestination, Relay, type RelayEvent } from 'yaoki/outbox'
import { outbox, pool } from './shop.ts'

const { MAIL_URL = 'http://127.0.0.1:4000' } = process.env

const relay = new Relay(outbox, {
	destinations: {
		// The name of the destination is the topic of its messages.
		'order.placed': httpDestination({
			url: `${MAIL_URL}/mails`,
			fetch: async (input, init) => {
				const response = await fetch(input, init)
				// The worst moment: the mail service has the message, and the outbox does not know it.
				if (process.argv[2] === 'crash') process.kill(process.pid, 'SIGKILL')
				return response
			},
		}),
	},
	leaseMs: 10_000, // short for the tutorial; the default is a minute
	onEvent: log,
})

function log(event: RelayEvent): void {
	if (event.type === 'relay_sent') console.log(`sent ${event.messageId}, attempt ${event.attempts}`)
	if (event.type === 'relay_retry_scheduled')
		console.log(`attempt ${event.attempts} failed: ${event.errorMessage}`)
	if (event.type === 'relay_dead_letter') console.log(`dead letter ${event.messageId}: ${event.errorMessage}`)
}

await relay.start()
console.log('The relay runs.')

async function stop(): Promise<void> {
	await relay.stop() // messages in flight are finished first
	await outbox.close()
	await pool.end()
}
process.once('SIGINT', stop) // Ctrl-C
process.once('SIGTERM', stop) // a deployment
