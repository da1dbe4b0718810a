import { Agent as HttpAgent } from 'node:http'
import axios, { type AxiosRequestConfig } from 'axios'
import { Agent as UndiciAgent } from 'undici-7'
import { afterAll, expect, test } from 'vitest'
import { bothLoopbacks, faultServer, neverAnswers } from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'
import { TRANSIENT, verdict } from './verdicts.ts'

const dispatcher = new UndiciAgent({ connect: { lookup: bothLoopbacks, autoSelectFamily: true } })
afterAll(() => dispatcher.close())

/** Each adapter, and how it is told to look hosts up. */
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
		mindsSchemes: true,
		aggregateIs: 'its cause',
		abortThrows: 'an error of its own',
	})

	test(`${name}: a timeout is transient, by whichever code it is told`, async () => {
		await using server = await faultServer(neverAnswers)
		expect(await verdict(() => get(server.url, { timeout: 20 }))).toEqual(TRANSIENT)
		const transitional = { clarifyTimeoutError: true }
		expect(await verdict(() => get(server.url, { timeout: 20, transitional }))).toEqual(TRANSIENT)
	})
}
