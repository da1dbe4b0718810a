/** Replies of a DNS server on loopback, through Node's resolver. */
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import { catchFailure, TRANSIENT } from './expected.ts'

/** Resolves a name with a server that replies with this response code. */
async function resolve(responseCode: number): Promise<unknown> {
	const server = createSocket('udp4')
	server.on('message', (query, { port }) => {
		// The query itself is the reply, with the flag of a response and the code.
		query.writeUInt16BE(0x8180 | responseCode, 2)
		server.send(query, port)
	})
	server.bind(0, '127.0.0.1')
	await once(server, 'listening')
	const resolver = new Resolver({ tries: 1 })
	resolver.setServers([`127.0.0.1:${server.address().port}`])
	try {
		return await catchFailure(() => resolver.resolve4('api.example.com'))
	} finally {
		server.close()
	}
}

test.each([
	['ESERVFAIL', 2],
	['ENOTFOUND', 3],
	['EREFUSED', 5],
])('%s is a transient network failure', async (code, responseCode) => {
	const error = await resolve(responseCode)
	expect(error).toHaveProperty('code', code)
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})
