/** A customer of a tenant orders: node order.ts TENANT ID CENTS */
import { db, outbox, webhooks } from './shop.ts'

const [tenant = '', id = '', cents = ''] = process.argv.slice(2)
// The topic is not in the request, so the payload says what happened.
const payload = {
	type: 'order.placed',
	timestamp: new Date().toISOString(),
	data: { id, cents: Number(cents) },
}

db.exec('BEGIN IMMEDIATE') // no await until COMMIT
try {
	db.prepare('INSERT INTO orders VALUES (?, ?, ?)').run(id, tenant, Number(cents))
	const { messages } = webhooks.enqueueSync({ topic: 'order.placed', tenant, payload }, { tx: db })
	db.exec('COMMIT')
	console.log(`${id}: endpoints: ${messages.length}`)
} catch (error) {
	if (db.isTransaction) db.exec('ROLLBACK')
	throw error
}
await outbox.close()
