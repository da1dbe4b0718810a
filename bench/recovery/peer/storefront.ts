import { customers } from '../../../test/shop/customers.ts'
import { service } from '../../../test/shop/service.ts'
import { resilientAxios } from './client.ts'

await service(({ orders: baseURL, plan }) => {
	const orders = resilientAxios(baseURL)
	return customers(plan, (order) => orders.post('/orders', order, order.id))
})
