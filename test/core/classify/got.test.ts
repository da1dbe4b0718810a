import { got, type OptionsOfTextResponseBody } from 'got'
import { expect, test } from 'vitest'
import { classify } from 'yaoki'
import { catchFailure, PERMANENT, TRANSIENT } from './expected.ts'
import {
	bothLoopbacks,
	type Fault,
	faultServer,
	neverResponds,
	respondWith,
	stallMidBody,
} from './fault-server.ts'
import { describeHttpClient } from './http-client.ts'

const once = got.extend({ retry: { limit: 0 } })
const get = (url: string, options: OptionsOfTextResponseBody = {}) => once(url, options).text()

describeHttpClient('got', {
	get,
	getByBothLoopbacks: (url) => get(url, { dnsLookup: bothLoopbacks }),
	getOrThrow: get,
	getJson: (url) => once(url).json(),
	followsRedirects: true,
	checksSchemes: true,
	aggregateIs: 'its cause',
	abortThrows: 'an error of its own',
})

test('the URL in a message does not change the classification of a status', async () => {
	await using server = await faultServer(respondWith(404))
	const error = await catchFailure(() => get(`${server.url}/throttled/pool/full?code=ECONNRESET`))
	expect(error).toHaveProperty('message', expect.stringContaining('ECONNRESET'))
	expect(classify(error)).toEqual(PERMANENT)
})

test.each<[string, Fault, 'url' | 'tlsUrl']>([
	['lookup', neverResponds, 'url'],
	['secureConnect', neverResponds, 'tlsUrl'],
	['socket', neverResponds, 'url'],
	['response', neverResponds, 'url'],
	['request', neverResponds, 'url'],
	['read', stallMidBody, 'url'],
])('a %s timeout is transient', async (phase, fault, url) => {
	await using server = await faultServer(fault)
	const address = phase === 'lookup' ? 'http://nowhere.invalid' : server[url]
	const error = await catchFailure(() => get(address, { timeout: { [phase]: 20 }, dnsLookup: () => {} }))
	expect(error).toHaveProperty('event', phase)
	expect(classify(error)).toEqual(TRANSIENT)
})
