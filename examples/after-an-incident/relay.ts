/** Sends orders to the billing service and coupons to the mail service. */
import { httpDestination, Relay } from 'yaoki/outbox'
import { outbox } from './shop.ts'

const { BILLING_URL = 'http://127.0.0.1:4000', MAIL_URL = 'http://127.0.0.1:4100' } = process.env

const relay = new Relay(outbox, {
	destinations: {
		'order.placed': httpDestination({ url: `${BILLING_URL}/invoices` }),
		'coupon.granted': httpDestination({ url: `${MAIL_URL}/mails` }),
	},
	maxConcurrent: 1, // one after the other, so that your output is that of the page
	onEvent(event) {
		if (event.type === 'relay_dead_letter') console.log(`dead letter ${relay.stats.dead}: ${event.cause}`)
	},
})
await relay.start()
console.log('The relay runs.')

async function stop(): Promise<void> {
	await relay.stop()
	await outbox.close()
}
process.once('SIGINT', stop) // Ctrl-C
process.once('SIGTERM', stop)
