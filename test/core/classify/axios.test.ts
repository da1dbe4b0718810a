import { Agent as HttpAgent } from 'node:http'
import axios, { type AxiosRequestConfig } from 'axios'
import { Agent as UndiciAgent } from 'undici-7'
import { afterAll, expect, test } from 'vitest'
import { classify } from 'yaoki'
import { classifyFailure, PERMANENT, TRANSIENT } from './expected.ts'
import { bothLoopbacks, faultServer, neverResponds, respondWith } from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'

const dispatcher = new UndiciAgent({ connect: { lookup: bothLoopbacks, autoSelectFamily: true } })
afterAll(() => dispatcher.close())

/** Each adapter, and its option for the DNS lookup. */
const ADAPTERS: readonly (readonly [adapter: 'http' | 'fetch', lookup: AxiosRequestConfig])[] = [
	['http', { httpAgent: new HttpAgent({ lookup: bothLoopbacks }) }],
	['fetch', { fetchOptions: { dispatcher } }],
]

for (const [adapter, lookup] of ADAPTERS) {
	const name = `axios with its ${adapter} adapter`
	const get = (url: string, config: AxiosRequestConfig = {}) => axios.get(url, { adapter, ...config })

	describeHttpClient(name, {
		get,
		getByBothLoopbacks: (url) => get(url, lookup),
		getOrThrow: get,
		getJson: (url) => get(url, { responseType: 'json', transitional: { silentJSONParsing: false } }),
		followsRedirects: true,
		checksSchemes: true,
		aggregateIs: 'its cause',
		abortThrows: 'an error of its own',
	})

	test(`${name}: a timeout is transient, with either error code`, async () => {
		await using server = await faultServer(neverResponds)
		expect(await classifyFailure(() => get(server.url, { timeout: 20 }))).toEqual(TRANSIENT)
		const transitional = { clarifyTimeoutError: true }
		expect(await classifyFailure(() => get(server.url, { timeout: 20, transitional }))).toEqual(TRANSIENT)
	})

	test(`${name}: a body above maxContentLength or maxBodyLength is permanent`, async () => {
		await using server = await faultServer(respondWith(200, 'hello'))
		expect(await classifyFailure(() => get(server.url, { maxContentLength: 4 }))).toEqual(PERMANENT)
		const post = () => axios.post(server.url, 'hello', { adapter, maxBodyLength: 4 })
		expect(await classifyFailure(post)).toEqual(PERMANENT)
	})
}

test('a connection that axios 1.7 reports as a size limit of -1 is retried', () => {
	const error = new axios.AxiosError('maxContentLength size of -1 exceeded', 'ERR_BAD_RESPONSE')
	expect(classify(error).kind).toBe('transient')
})
