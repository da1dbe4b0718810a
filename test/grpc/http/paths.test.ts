import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { RouteTable } from '../../../src/grpc/http/route-table.ts'
import { failure } from '../../http/client/setting.ts'
import { configured, failing, RETRY } from './configured.ts'

/** Entries whose timeouts are 1, 2, 3, ... seconds. */
const tableOf = (...names: readonly object[]) => {
	const methodConfig = names.map((name, index) => ({ name: [name], timeout: `${index + 1}s` }))
	const table = new RouteTable(parseServiceConfig({ methodConfig }), 'configs')
	return (path: string) => (table.find(path)?.timeoutMs ?? 0) / 1_000
}

describe('the entry of a path', () => {
	test('is that of the method, else of the service, else of all', () => {
		const find = tableOf({}, { service: 'shop.Orders' }, { service: 'shop.Orders', method: 'Get' })
		expect(find('/shop.Orders/Get')).toBe(3)
		expect(find('/shop.Orders/List')).toBe(2)
		expect(find('/shop.Carts/Get')).toBe(1)
		expect(find('/')).toBe(1)
	})

	test('is that of the longest service that the path begins with', () => {
		const find = tableOf(
			{ service: 'v1' },
			{ service: 'v1/orders' },
			{ service: 'v1/orders', method: 'export' },
		)
		expect(find('/v1/orders/7')).toBe(2)
		expect(find('/v1/orders/7/items')).toBe(2)
		expect(find('/v1/orders')).toBe(2)
		expect(find('/v1/orders/')).toBe(2)
		expect(find('/v1/orders/export')).toBe(3)
		expect(find('/v1/orders/export/7')).toBe(2)
		expect(find('/v1/users')).toBe(1)
		expect(find('/v1')).toBe(1)
		expect(find('/v10/orders')).toBe(0)
		expect(find('/v1/ordersabc')).toBe(1)
		expect(find('/')).toBe(0)
	})

	test('an entry for a method wins over one for a service of the same path', () => {
		const find = tableOf({ service: 'a/b' }, { service: 'a', method: 'b' })
		expect(find('/a/b')).toBe(2)
		expect(find('/a/b/c')).toBe(1)
	})

	test('is found by names of the prototype of objects', () => {
		const find = tableOf({ service: '__proto__' }, { service: 'constructor', method: 'toString' })
		expect(find('/__proto__/x')).toBe(1)
		expect(find('/constructor/toString')).toBe(2)
		expect(find('/toString/constructor')).toBe(0)
	})

	test('is found for a path with thousands of slashes', () => {
		expect(tableOf({ service: 'a' })(`/a${'/'.repeat(5_000)}`)).toBe(1)
	})
})

test('requests are matched by their path, without query and with dots resolved', async () => {
	const json = { methodConfig: [{ name: [{ service: 'shop.Orders', method: 'Get' }], retryPolicy: RETRY }] }
	const { client, server } = await configured(failing(503), json, { circuitBreaker: false })
	for (const path of ['/shop.Orders/Get?id=/x/y', '/shop.Orders/Get#part', '/x/../shop.Orders/Get']) {
		const before = server.requests.length
		await failure(client.get(path))
		expect(server.requests.length - before).toBe(3)
	}
	for (const path of ['/shop.Orders/List', '/shop.Orders/get', '/shop.Orders/Get/', '/x?/shop.Orders/Get']) {
		const before = server.requests.length
		await failure(client.get(path))
		expect(server.requests.length - before).toBe(1)
	}
})
