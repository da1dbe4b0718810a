/** The server of a customer. With `node receiver.ts broken` it responds to every webhook with 500. */
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { Inbox, sqliteInboxStore } from 'yaoki/outbox'
import { type VerifiedWebhook, verifyWebhook, WebhookVerificationError } from 'yaoki/webhooks'

const { WEBHOOK_SECRETS = '', RECEIVER_PORT = '4000' } = process.env
const secrets = WEBHOOK_SECRETS.split(' ')

const db = new DatabaseSync('receiver.db', { timeout: 5_000 })
db.exec('CREATE TABLE IF NOT EXISTS shipments (order_id TEXT NOT NULL)')
const inbox = new Inbox({
	store: sqliteInboxStore('receiver.db'),
	senderRetriesForMs: 432_000_000, // five days: the shop retries for up to 4.1
})
await inbox.migrate()

/** Ships once, however often the webhook arrives: the id and the effect are in one transaction. */
function receive({ id, json }: { readonly id: string; readonly json: Event }): void {
	if (json.type !== 'order.placed') return // a type that this program does not know
	const order = json.data.id
	db.exec('BEGIN IMMEDIATE')
	try {
		const ship = () => db.prepare('INSERT INTO shipments VALUES (?)').run(order)
		const { isDuplicate } = inbox.onceSync(id, { tx: db }, ship)
		db.exec('COMMIT')
		console.log(isDuplicate ? `${order}: duplicate` : `${order}: shipped`)
	} catch (error) {
		if (db.isTransaction) db.exec('ROLLBACK')
		throw error
	}
}

interface Event {
	readonly type: string
	readonly data: { readonly id: string }
}

const server = createServer(async (request, response) => {
	try {
		const webhook: VerifiedWebhook = await verifyWebhook(request, secrets)
		if (process.argv[2] === 'broken') throw new Error('a bug of this program')
		receive({ id: webhook.id, json: webhook.json() as Event })
		response.writeHead(204).end() // also for a duplicate: an error would cause another attempt
	} catch (error) {
		if (!(error instanceof WebhookVerificationError)) return void response.writeHead(500).end(String(error))
		response.writeHead(error.statusCode).end(error.reason)
	}
})
server.listen(Number(RECEIVER_PORT), '127.0.0.1', () => console.log('The receiver listens.'))
