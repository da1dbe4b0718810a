/** One evening in the shop: 60 orders, two orders of a load test, and three coupons for tomorrow. */
import { outbox, shop } from './shop.ts'

await outbox.migrate()
shop.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')

/** Writes an order and its message. */
function place(id: string, customer: string, amount: string): void {
	shop.prepare('INSERT INTO orders VALUES (?)').run(id)
	outbox.enqueueSync({ topic: 'order.placed', payload: { id, customer, amount } }, { tx: shop })
}

shop.exec('BEGIN IMMEDIATE') // one transaction for the whole evening, because it is an example
for (let n = 1; n <= 60; n += 1) {
	if (n % 2 === 1) place(`o-${n}`, 'ada', '12.50 EUR')
	else if (n === 12 || n === 40) place(`o-${n}`, 'minji', '17000 KRW')
	else place(`o-${n}`, 'kenji', '1980 JPY')
}
for (const id of ['t-1', 't-2']) place(id, 'load-test', '1.00 EUR')
const notBefore = new Date(Date.now() + 43_200_000)
for (const customer of ['ada', 'minji', 'kenji'])
	outbox.enqueueSync({ topic: 'coupon.granted', payload: { customer }, notBefore }, { tx: shop })
shop.exec('COMMIT')
await outbox.close()
console.log('62 orders and 3 coupons are written.')
