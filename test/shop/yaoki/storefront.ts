import { ResilientHttpClient } from 'yaoki/http'
import { customers } from '../customers.ts'
import { service } from '../service.ts'
import { noteCircuits } from './notes.ts'

await service(({ orders: baseUrl, plan }) => {
	const orders = new ResilientHttpClient({ baseUrl })
	noteCircuits(orders)
	return customers(plan, (order) =>
		orders.post('/orders', { json: order, yaoki: { idempotencyKey: order.id } }).json(),
	)
})
