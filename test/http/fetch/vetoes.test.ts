import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { ResilientFetchOptions } from 'yaoki/http'
import { FINE, SENDERS, status } from './setup.ts'

describe.each(SENDERS)('over $name', ({ setup }) => {
	/** The number of requests if the server fails once with these headers. */
	async function asked(headers: Readonly<Record<string, string>>, options: ResilientFetchOptions = {}) {
		const { fetch, url, server } = await setup([status(503, headers), FINE], options)
		const response = await fetch(url)
		return { times: server.requests.length, status: response.status, stop: explain(response)?.stop }
	}

	const VETOED = { times: 1, status: 503, stop: 'server-veto' }
	const REPEATED = { times: 2, status: 200, stop: 'success' }

	describe('a server that forbids a retry', () => {
		test.each(['false', 'FALSE', ' false '])(
			"a server that forbids a retry by x-should-retry: '%s' is obeyed",
			async (value) => {
				expect(await asked({ 'X-Should-Retry': value })).toEqual(VETOED)
			},
		)

		test.each(['true', '', 'no', 'falsehood', 'false, false'])(
			"is not one that says x-should-retry: '%s'",
			async (value) => {
				expect(await asked({ 'x-should-retry': value })).toEqual(REPEATED)
			},
		)

		test('a server that forbids a retry by the headers in retryVetoHeaders, in any case, and by no others', async () => {
			const options = { retryVetoHeaders: { 'X-Retry': 'Never', 'x-final': 'yes' } }
			expect(await asked({ 'x-retry': 'never' }, options)).toEqual(VETOED)
			expect(await asked({ 'x-final': 'YES' }, options)).toEqual(VETOED)
			expect(await asked({ 'x-should-retry': 'false' }, options)).toEqual(REPEATED)
		})

		test('is ignored without veto headers', async () => {
			expect(await asked({ 'x-should-retry': 'false' }, { retryVetoHeaders: {} })).toEqual(REPEATED)
		})

		test('takes precedence over Retry-After, the idempotency key and shouldRetry', async () => {
			const script = [status(503, { 'x-should-retry': 'false', 'retry-after': '1' }), FINE] as const
			const { fetch, url, server } = await setup(script, { shouldRetry: () => true })
			const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'mine' } })
			expect([response.status, explain(response)?.stop]).toEqual([503, 'server-veto'])
			expect(server.requests).toHaveLength(1)
		})

		test('a server that forbids a retry after exhausted retries is not the stop reason', async () => {
			const { fetch, url } = await setup([status(503), status(503, { 'x-should-retry': 'false' })], {
				maxRetries: 1,
			})
			expect(explain(await fetch(url))?.stop).toBe('retries-exhausted')
		})

		test('a server that forbids a retry with a response below 400 has no effect', async () => {
			const { fetch, url } = await setup(status(200, { 'x-should-retry': 'false' }))
			expect(explain(await fetch(url))?.stop).toBe('success')
		})
	})
})
