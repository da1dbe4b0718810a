/** The billing service: one invoice per order. `node billing.ts 2` runs release 2. */
import { createServer, type IncomingMessage } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { json } from 'node:stream/consumers'

/** What each release accepts as an amount. */
const releases: Record<string, RegExp> = {
	'2': /^\d+\.\d\d [A-Z]{3}$/, // a bug: yen and won have no decimals
	'3': /^(\d+\.\d\d [A-Z]{3}|\d+ JPY)$/,
	'4': /^\d+(\.\d\d)? [A-Z]{3}$/,
}
const { PORT = '4000' } = process.env
const [release = '4'] = process.argv.slice(2)

const db = new DatabaseSync('billing.db')
db.exec('CREATE TABLE IF NOT EXISTS invoices (message_id TEXT PRIMARY KEY, order_id TEXT NOT NULL)')
// A message may arrive twice. The primary key makes the second time harmless.
const insert = db.prepare('INSERT INTO invoices VALUES (?, ?) ON CONFLICT DO NOTHING')

async function receive(request: IncomingMessage): Promise<{ status: number; text: string }> {
	const { id, customer, amount } = (await json(request)) as Record<'id' | 'customer' | 'amount', string>
	if (customer === 'load-test') return { status: 404, text: `no customer ${customer}` }
	if (!releases[release]?.test(amount)) return { status: 422, text: `${amount} is no amount` }
	insert.run(String(request.headers['idempotency-key']), id)
	console.log(`invoice for ${id}`)
	return { status: 201, text: 'created' }
}

const server = createServer((request, response) => {
	receive(request).then(
		({ status, text }) => response.writeHead(status).end(text),
		() => response.writeHead(500).end(),
	)
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Billing runs, release ${release}.`))
