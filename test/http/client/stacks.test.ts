import { describe, expect, test } from 'vitest'
import { HttpError, ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { answer, hang } from '../faults/fault-server.ts'
import { FETCHES, serve } from './setup.ts'

/** Only an async function with `await` is in the stack of an error that is created later. */
async function theCaller(send: () => Promise<unknown>): Promise<void> {
	await send()
}

const errorOf = (send: () => Promise<unknown>) => theCaller(send).catch((error) => error)

describe.each(FETCHES)('the stack over %s', (_, fetch) => {
	test('contains the callers in an HttpError, at the first attempt and after retries', async () => {
		const client = new ResilientHttpClient({ fetch, baseDelayMs: 1, maxRetries: 1 })
		for (const status of [404, 500]) {
			const server = await serve(answer({ status }))
			const error = await errorOf(() => client.get(server.url()))
			expect(error).toBeInstanceOf(HttpError)
			expect(error.stack).toMatch(new RegExp(`^HttpError: HTTP ${status} for GET [\\s\\S]*theCaller`))
		}
	})

	test('contains the callers in the TimeoutError of an attempt', async () => {
		const server = await serve(hang())
		// The total timeout must not be over, too, if the event loop stalls.
		const client = new ResilientHttpClient({ fetch, timeout: 20, totalTimeoutMs: 60_000, maxRetries: 0 })
		const error = await errorOf(() => client.get(server.url()))
		expect(error).toMatchObject({
			name: 'TimeoutError',
			timeoutMs: 20,
			pipeline: 'http',
			policy: server.origin,
		})
		expect(error.stack).toMatch(/^TimeoutError: [\s\S]*theCaller/)
	})
})

test('the stack of an error that a given fetch throws contains the callers', async () => {
	const fetch = resilientFetch({
		maxRetries: 0,
		fetch: async () => {
			await new Promise((resolve) => setImmediate(resolve))
			throw new TypeError('no route')
		},
	})
	const error = await errorOf(() => fetch('https://api.example.com/'))
	expect(error.stack).toMatch(/^TypeError: no route[\s\S]*theCaller/)
})
