/** `resilientFetch` and the client against a real server: which requests are retried, and what is returned while the circuit is open. */
import { explain } from 'yaoki'
import { isCachedResponse, ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { openShop } from './http/shop.ts'

const shop = await openShop()
const quick = { maxRetries: 2, baseDelayMs: 5 }
const fetch = resilientFetch(quick)

// A GET is retried, and the result is an ordinary Response.
shop.respondWith(503, 500)
const response = await fetch(shop.url)
console.log(
	`GET: ${response.status} "${await response.text()}", after ${explain(response)?.attempts.length} attempts`,
)

// A POST is not: the server may have processed the order.
shop.respondWith(503)
const order = await fetch(shop.url, { method: 'POST', body: '2 tea' })
await order.text()
console.log(`POST: ${order.status}, ended by ${explain(order)?.stop}`)

// With an idempotency key the server can detect duplicates, so the POST is retried with the same key.
const withKeys = resilientFetch({ ...quick, idempotency: 'auto' })
shop.respondWith(503)
const again = await withKeys(shop.url, { method: 'POST', body: '2 tea' })
await again.text()
const [first, second] = shop.seen.slice(-2)
console.log(`POST with a key: ${again.status}, the same key twice: ${first === second}`)

// While the circuit is open, the client returns the last successful response.
const breaker = { failureThreshold: 1 }
const client = new ResilientHttpClient({ ...quick, maxRetries: 0, circuitBreaker: breaker, cache: true })
await (await client.get(shop.url)).text()
shop.respondWith(500)
const error = await client.get(shop.url).catch((thrown: unknown) => thrown)
const cached = await client.get(shop.url)
console.log(
	`client: first ${error}, then "${await cached.text()}" from the cache: ${isCachedResponse(cached)}`,
)

shop.close()
