import { customers } from '../../../test/shop/customers.ts'
import { service } from '../../../test/shop/service.ts'
import { post } from './post.ts'

await service(({ orders, plan }) => customers(plan, (order) => post(`${orders}/orders`, order)))
