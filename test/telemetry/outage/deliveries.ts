/** Webhooks with an endpoint that works and one that is gone, and the inbox of a receiver. */
import { DatabaseSync } from 'node:sqlite'
import { Inbox, type Outbox, Relay, sqliteInboxStore, Webhooks } from '../../../src/outbox/index.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { temporaryFile } from '../../support/temporary-file.ts'

export interface Deliveries extends AsyncDisposable {
	readonly observed: { readonly webhooks: Webhooks; readonly hookRelay: Relay; readonly inbox: Inbox }
	start(): Promise<void>
	/** Delivers an event to each endpoint that is enabled, and receives a message. */
	run(round: number): Promise<void>
	stop(): Promise<void>
}

const WORKS = 'https://customer.example.com/hooks'
const GONE = 'https://gone.example.com/hooks'

export async function createDeliveries(outbox: Outbox): Promise<Deliveries> {
	let delivered = 0
	const receive = async (input: unknown): Promise<Response> => {
		if (String(input) === GONE) return new Response(null, { status: 410 })
		delivered++
		return new Response(null, { status: 204 })
	}
	const webhooks = new Webhooks(outbox, { ssrfProtection: false, fetch: receive as typeof fetch })
	for (const url of [WORKS, GONE]) await webhooks.endpoints.create({ url, topics: ['*'] })
	const hookRelay = new Relay(outbox, { destinations: { ...webhooks.destinations() }, pollMs: 20 })

	const file = temporaryFile()
	const inbox = new Inbox({ store: sqliteInboxStore(file), purgeEveryMs: 0 })
	await inbox.migrate()
	const db = new DatabaseSync(file)

	return {
		observed: { webhooks, hookRelay, inbox },
		start: () => hookRelay.start(),
		async run(round) {
			await webhooks.enqueue({ topic: 'order.paid', payload: round })
			await eventuallyTrue(async () => delivered >= round && (await webhooks.stats()).disabled.gone === 1)
			db.exec('BEGIN IMMEDIATE')
			inbox.onceSync(`${round}`, { tx: db }, () => {})
			db.exec('COMMIT')
		},
		stop: () => hookRelay.stop(),
		async [Symbol.asyncDispose]() {
			await hookRelay.stop()
			await webhooks.close()
			await inbox.close()
			db.close()
		},
	}
}
