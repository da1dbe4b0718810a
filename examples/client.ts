/** The client against a real server: base URL, headers, search parameters, a schema, responses that do not match it, and a token. */
import { InvalidResponseError, ResilientHttpClient } from 'yaoki/http'
import * as z from 'zod'
import { openCatalog } from './http/catalog.ts'

const Product = z.object({ name: z.string(), price: z.number() })

const catalog = await openCatalog()
const api = new ResilientHttpClient({
	baseUrl: `${catalog.url}/v1`,
	headers: async () => ({ 'x-app': 'shop' }),
	searchParams: { lang: 'en' },
	baseDelayMs: 5,
})

// The first attempt gets a 503. The result of the second is validated and has a type.
const tea = await api.get('products/tea').json(Product)
console.log(`${tea.name} costs ${tea.price}`)
console.log(`requests: ${catalog.seen.join(', ')}`)

// A page instead of JSON, and another shape. The message names the places and not the values.
for (const path of ['/cart', '/products/old']) {
	const error = await api
		.get(path)
		.json(Product)
		.catch((thrown: unknown) => thrown)
	if (error instanceof InvalidResponseError) console.log(error.message.replace(catalog.url, ''))
}

// The same circuits, with one more header.
const asAdmin = api.extend({ headers: { 'x-role': 'admin' } })
console.log(await asAdmin.get('/hello').text())

// An expired token is renewed once, and both requests are repeated.
let token = 'expired'
const authorized = api.extend({
	auth: {
		token: () => token,
		refresh: async () => {
			console.log('refresh')
			token = 'fresh'
		},
	},
})
const paths = ['/orders/7', '/orders/7?full=1']
console.log(await Promise.all(paths.map((path) => authorized.get(path).json())))

catalog.close()
