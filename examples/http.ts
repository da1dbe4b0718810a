/** `resilientFetch` and the client against a real server: what is repeated, what is not, and what is served while the circuit is open. */
import { explain } from 'yaoki'
import { isCachedResponse, ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { openShop } from './http/shop.ts'

const shop = await openShop()
const quick = { maxRetries: 2, baseDelayMs: 5 }
const fetch = resilientFetch(quick)

// A GET is repeated, and in the end there is an ordinary Response.
shop.willAnswer(503, 500)
const response = await fetch(shop.url)
console.log(
	`GET: ${response.status} "${await response.text()}", after ${explain(response)?.attempts.length} attempts`,
)

// A POST is not: nobody knows whether the order was taken.
shop.willAnswer(503)
const order = await fetch(shop.url, { method: 'POST', body: '2 tea' })
await order.text()
console.log(`POST: ${order.status}, ended by ${explain(order)?.stop}`)

// With a key the server can tell, and it is repeated: with the same key.
const withKeys = resilientFetch({ ...quick, idempotency: 'auto' })
shop.willAnswer(503)
const again = await withKeys(shop.url, { method: 'POST', body: '2 tea' })
await again.text()
const [first, second] = shop.seen.slice(-2)
console.log(`POST with a key: ${again.status}, the same key twice: ${first === second}`)

// While the circuit is open, the last good answer serves.
const breaker = { failureThreshold: 1 }
const client = new ResilientHttpClient({ ...quick, maxRetries: 0, circuitBreaker: breaker, cache: true })
await (await client.get(shop.url)).text()
shop.willAnswer(500)
const error = await client.get(shop.url).catch((thrown: unknown) => thrown)
const kept = await client.get(shop.url)
console.log(`client: first ${error}, then "${await kept.text()}" from the cache: ${isCachedResponse(kept)}`)

shop.close()
