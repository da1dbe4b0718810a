import { Pool } from 'pg'
import { httpDestination, Outbox, postgresOutboxStore, Relay } from 'yaoki/outbox'
import { service } from '../service.ts'

await service(async ({ database, mail }) => {
	const pool = new Pool({ connectionString: database }).on('error', () => {})
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
	await outbox.migrate()
	const relay = new Relay(outbox, {
		destinations: { 'order.placed': httpDestination({ url: `${mail}/mails` }) },
	})
	await relay.start()
	return undefined
})
