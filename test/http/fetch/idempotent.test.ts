import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import type { OutgoingRequest } from '../../../src/http/options/request-hooks.ts'
import { BUSY, FINE, failure, fetching, optionError, setup } from './setup.ts'

const QUERY = '{"query":"query { users { id } }"}'
const MUTATION = '{"query":"mutation { pay }"}'
const isQuery = ({ body }: OutgoingRequest): boolean => body === QUERY

describe('idempotent', () => {
	test('idempotent that returns true lets a POST be retried, and only that one', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE], { idempotent: isQuery })
		expect((await fetch(url, { method: 'POST', body: QUERY })).status).toBe(200)
		const other = await setup([BUSY, FINE], { idempotent: isQuery })
		const response = await other.fetch(other.url, { method: 'POST', body: MUTATION })
		expect([response.status, explain(response)?.stop]).toEqual([503, 'not-idempotent'])
		expect([server.requests.length, other.server.requests.length]).toEqual([2, 1])
	})

	test('receives URL, method, headers and body of the request', async () => {
		let seen: OutgoingRequest | undefined
		const { fetch, server } = await setup([BUSY, FINE], {
			idempotent(request) {
				seen = request
				return true
			},
		})
		const url = server.url('/graphql?a=1')
		await fetch(url, { method: 'POST', body: QUERY, headers: { 'x-operation': 'query' } })
		expect(seen).toMatchObject({ url, method: 'POST', body: QUERY })
		expect(seen?.headers.get('x-operation')).toBe('query')
	})

	test('is a function of a client too', async () => {
		const { server, runtime } = await setup([BUSY, FINE])
		const client = new ResilientHttpClient({ idempotent: isQuery, runtime })
		expect((await client.post(server.url(), { body: QUERY })).status).toBe(200)
	})

	test('idempotent that throws ends the call with its error', async () => {
		const { fetch, url, server } = await setup(BUSY, {
			idempotent() {
				throw new Error('not JSON')
			},
		})
		const error = await failure(fetch(url, { method: 'POST' }))
		expect([error.message, explain(error)?.stop, server.requests.length]).toEqual([
			'not JSON',
			'hook-threw',
			1,
		])
	})

	test('must be a function, and synchronous', async () => {
		expect(optionError({ idempotent: true })).toMatchObject({ optionPath: 'idempotent' })
		const idempotent: unknown = async () => false
		const { fetch, url } = await setup(BUSY, { idempotent: idempotent as () => boolean })
		expect(await failure(fetch(url, { method: 'POST' }))).toMatchObject({ code: 'YAOKI_ASYNC_HOOK' })
	})

	test('decides only where request option, method and key do not', async () => {
		const method = fc.constantFrom('GET', 'PUT', 'DELETE', 'POST', 'PATCH')
		const option = fc.option(fc.boolean(), { nil: undefined })
		await fc.assert(
			fc.asyncProperty(method, option, fc.boolean(), fc.boolean(), async (method, given, hasKey, result) => {
				let sent = 0
				let asked = 0
				const { fetch } = fetching({
					maxRetries: 1,
					async fetch() {
						return new Response(null, { status: ++sent === 1 ? 503 : 200 })
					},
					idempotent() {
						asked++
						return result
					},
				})
				const isSafe = hasKey || !/^P(OST|ATCH)$/.test(method)
				const yaoki = {
					...(given !== undefined && { idempotent: given }),
					...(hasKey && { idempotencyKey: 'k' }),
				}
				await fetch('https://a.test/', { method, yaoki })
				expect(sent).toBe((given ?? (isSafe || result)) ? 2 : 1)
				expect(asked).toBe(given === undefined && !isSafe ? 1 : 0)
			}),
			{ numRuns: 60 },
		)
	})
})
