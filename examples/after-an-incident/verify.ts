/** Compares the orders of the shop with the invoices: each order has exactly one. */
import { shop } from './shop.ts'

shop.exec("ATTACH 'billing.db' AS billing")
const orders = shop
	.prepare(
		`SELECT orders.id, count(order_id) AS invoices
		FROM orders LEFT JOIN billing.invoices ON order_id = orders.id GROUP BY orders.id ORDER BY orders.rowid`,
	)
	.all()
const idsWith = (count: number) => orders.flatMap(({ id, invoices }) => (invoices === count ? [id] : []))
console.log(`${idsWith(1).length} orders have one invoice.`)
console.log(`${idsWith(0).length} have none: ${idsWith(0)}`)
