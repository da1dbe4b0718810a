/** A process that responds with a small JSON body, or fails for a share of the requests. Exits with its parent. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** On `/flaky` the first three of every ten requests fail, so the share is exact without randomness. */
const FAILING = 3
const OF = 10

let seen = 0
const server = createServer((request, response) => {
	request.resume()
	response.setHeader('content-type', 'application/json')
	if (request.url === '/seen') {
		response.end(String(seen))
		return
	}
	seen++
	if (request.url === '/flaky' && (seen * 7) % OF < FAILING) response.statusCode = 503
	response.end('{"hello":"world"}')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
