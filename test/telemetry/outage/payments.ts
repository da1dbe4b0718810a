/** A handler with idempotency keys, whose store fails now and then. */
import { fetchIdempotency, idempotency, memoryIdempotencyStore } from '../../../src/idempotency/index.ts'

export function createPayments() {
	const store = memoryIdempotencyStore()
	const claim = store.claim.bind(store)
	let isStoreDown = false
	store.claim = (request) => {
		if (isStoreDown) throw new Error('the store is down')
		return claim(request)
	}
	const engine = idempotency({ name: 'payments', store, principal: () => 'ada' })
	let charges = 0
	const handle = fetchIdempotency(engine, async () => {
		await new Promise((resolve) => setTimeout(resolve, 1))
		return Response.json({ charge: ++charges }, { status: 201 })
	})
	const post = async (key: string, body: string): Promise<number> => {
		const request = new Request('http://localhost/charges', {
			method: 'POST',
			headers: { 'idempotency-key': key, 'content-type': 'application/json' },
			body,
		})
		return (await handle(request)).status
	}
	return {
		engine,
		/** A first request with a concurrent second one, a replay, another request with its key, and a failure of the store. */
		async run(round: number): Promise<void> {
			const key = `key-${round}`
			await Promise.all([post(key, '{"amount":1}'), post(key, '{"amount":1}')])
			await post(key, '{"amount":1}')
			await post(key, '{"amount":2}')
			isStoreDown = true
			await post(`${key}-b`, '{"amount":1}').catch(() => undefined)
			isStoreDown = false
		},
	}
}
