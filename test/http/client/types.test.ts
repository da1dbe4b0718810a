import { describe, expectTypeOf, it } from 'vitest'
import type { ResilientHttpClient, ResponsePromise } from 'yaoki/http'

interface Tree {
	readonly name: string
	readonly children?: readonly Tree[]
}

/** Only compiled: requests would be sent. */
const compiled = (
	_: (client: ResilientHttpClient, tree: Tree, given: unknown, choice: number | string | null) => void,
) => {}

describe('the types of a client', () => {
	it('accept a json value that can be sent', () => {
		compiled((client, tree, given, choice) => {
			expectTypeOf(client.post('/a', { json: tree })).toEqualTypeOf<ResponsePromise>()
			void client.put('/a', { json: given })
			void client.patch('/a', { json: choice })
			void client.delete('/a', { json: { at: new Date(), tags: ['a'], none: undefined } })
			void client.request('/a', { method: 'POST', json: [1, null, { deep: true }] })
			void client.post('/a', { json: undefined, body: 'text' })
		})
	})

	it('reject a bigint in json, because JSON.stringify throws', () => {
		compiled((client) => {
			// @ts-expect-error A bigint.
			void client.post('/a', { json: 1n })
			// @ts-expect-error A bigint inside.
			void client.post('/a', { json: { id: 1n } })
			// @ts-expect-error A bigint deep inside.
			void client.request('/a', { method: 'POST', json: { rows: [{ id: 1n }] } })
		})
	})

	it('reject json in a GET or HEAD, which have no body', () => {
		compiled((client) => {
			void client.get('/a', { searchParams: { a: 1 } })
			// @ts-expect-error A GET has no body.
			void client.get('/a', { json: { a: 1 } })
			// @ts-expect-error A HEAD has no body.
			void client.head('/a', { json: { a: 1 } })
		})
	})
})
