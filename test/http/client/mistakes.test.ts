/** Common mistakes get an error that names the option, what it got, what is valid, and the right name. */
import { describe, expect, it } from 'vitest'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { recorder } from './recorder.ts'
import { failure } from './setup.ts'

const API = 'https://api.example.com'

/** Options as JavaScript programs pass them. */
const untyped = (options: object): never => options as never

describe('a mocked fetch', () => {
	it.each([[{ ok: true, status: 200, json: async () => ({}) }], [undefined], ['text']])(
		'that returns %o is named as the mistake, without a retry',
		async (returned) => {
			let calls = 0
			const fetch = async () => {
				calls++
				return untyped(returned as object)
			}
			const message = 'fetch returned something that is not a Response'
			for (const call of [
				() => new ResilientHttpClient({ fetch }).get(API),
				() => resilientFetch({ fetch })(API),
			])
				expect(await failure(call())).toMatchObject({ name: 'TypeError', message })
			expect(calls).toBe(2)
		},
	)

	it('a mocked fetch that returns the commonly used part of a Response works', async () => {
		const response = { ok: true, status: 200, headers: new Headers(), json: async () => ({ id: 7 }) }
		const client = new ResilientHttpClient({ fetch: async () => untyped(response) })
		expect(await (await client.get(API)).json()).toEqual({ id: 7 })
	})
})

describe('a relative URL', () => {
	it('a relative URL without a baseUrl says to set it', async () => {
		const { client, sent } = recorder({ baseUrl: undefined })
		for (const url of ['/users/7', 'users?at=12:30', './a'])
			expect(await failure(client.get(url))).toMatchObject({
				message: expect.stringMatching(
					/^Invalid URL '.+': it is relative\. Set baseUrl, or pass an absolute URL$/,
				),
			})
		expect(sent).toEqual([])
	})
})

describe('onResponse', () => {
	it.each([[{}], ['ok'], [200]])(
		'that returns %j ends the call with the name of the option',
		async (returned) => {
			const { client, sent } = recorder({ onResponse: () => untyped(returned as object) })
			expect(await failure(client.get(API))).toMatchObject({
				code: 'YAOKI_INVALID_OPTION',
				message: expect.stringContaining('"onResponse(response)": expected a Response or nothing, got'),
			})
			expect(sent).toHaveLength(1)
		},
	)
})

describe('an option that other packages have', () => {
	it.each([
		[{ retry: 3 }, 'Unknown option "retry" for ResilientHttpClient. Did you mean "maxRetries"?'],
		[{ circuitBreaker: { slowCallDurationMs: 500 } }, 'Did you mean "slowCallMs"?'],
		[{ circuitBreaker: { threshold: 5 } }, 'Did you mean "failureThreshold"?'],
	])('an option that other packages have as in %j gets the right name', (options, message) => {
		expect(() => new ResilientHttpClient(untyped(options))).toThrow(message)
	})

	it('gets no name if none is similar', () => {
		expect(() => new ResilientHttpClient(untyped({ prefixUrl: API }))).toThrow(/(?!.*Did you mean)prefixUrl/)
	})
})
