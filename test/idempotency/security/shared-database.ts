/**
 * Two services store their keys in one database. One forwards the request of a user to the other, with the same key. Without a name in every key, the
 * second one replayed the response of the first.
 */
import { expect, test } from 'vitest'
import { fetchIdempotency, type IdempotencyStore, idempotency } from '../../../src/idempotency/index.ts'

function service(name: string, store: IdempotencyStore) {
	const keys: string[] = []
	const engine = idempotency({ name, store, principal: () => 'ada' })
	const handle = fetchIdempotency(engine, async (_: Request, context) => {
		await context.step('charge', ({ idempotencyKey }) => void keys.push(idempotencyKey))
		return Response.json({ from: name }, { status: 201 })
	})
	const send = async () => {
		const headers = { 'idempotency-key': 'k1', 'content-type': 'application/json' }
		const request = new Request('https://shop.example.com/charges', { method: 'POST', headers, body: '{}' })
		return (await (await handle(request)).json()).from
	}
	return { engine, keys, send }
}

/** `open` returns a store of one process on a database that is the same for all. */
export function sharedDatabase(open: () => Promise<IdempotencyStore> | IdempotencyStore): void {
	test('two services with one database do not answer for each other', async () => {
		const [shop, bank] = [service('shop', await open()), service('bank', await open())]
		expect([await shop.send(), await bank.send()]).toEqual(['shop', 'bank'])
		expect([await shop.send(), await bank.send()]).toEqual(['shop', 'bank'])
		expect([shop.keys.length, bank.keys.length]).toEqual([1, 1])
		expect(shop.keys).not.toEqual(bank.keys)
	})

	test('two processes of one service share their keys', async () => {
		const [first, second] = [service('shop', await open()), service('shop', await open())]
		expect([await first.send(), await second.send()]).toEqual(['shop', 'shop'])
		expect([first.keys.length, second.keys.length]).toEqual([1, 0])
	})

	test('an operator finds and resolves only keys of the engine with the same name', async () => {
		const [shop, bank] = [service('shop', await open()), service('bank', await open())]
		await shop.send()
		const identity = { principal: 'ada', method: 'POST', route: '/charges', key: 'k1' }
		expect(await shop.engine.find(identity)).toMatchObject({ state: 'completed' })
		expect(await bank.engine.find(identity)).toBeUndefined()
		await expect(bank.engine.resolve(identity, 'rerun')).rejects.toThrow('Nothing is stored')
	})
}
