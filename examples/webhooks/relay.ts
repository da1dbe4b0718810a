/** Delivers the messages of all endpoints. */
import { Relay, type RelayEvent, type WebhookEvent } from 'yaoki/outbox'
import { outbox, webhooks } from './shop.ts'

const relay = new Relay(outbox, {
	destinations: webhooks.destinations({
		// For the tutorial only. By default, the nine retries of a message last for three to four days.
		retry: { growth: [300] },
		circuitBreaker: { resetTimeoutMs: 500 },
	}),
	onEvent: log,
})
webhooks.subscribe(log)

function log(event: RelayEvent | WebhookEvent): void {
	if (event.type === 'relay_sent') console.log(`sent, attempt ${event.attempts}`)
	if (event.type === 'relay_dead_letter') console.log(`dead letter: ${event.errorMessage}`)
	if (event.type === 'webhook_endpoint_failing') console.log(`${event.tenant} fails: ${event.errorMessage}`)
	if (event.type === 'webhook_endpoint_disabled') console.log(`${event.tenant} disabled: ${event.reason}`)
}

await relay.start()
console.log('The relay runs.')

async function stop(): Promise<void> {
	await relay.stop() // messages in flight are finished first
	await webhooks.close()
	await outbox.close()
}
process.once('SIGINT', stop) // Ctrl-C
process.once('SIGTERM', stop) // a deployment
