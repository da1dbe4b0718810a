/** A process of its own that answers with a little JSON, or fails for a share of the requests. Ends with who started it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Every request whose number is one of the first three of ten fails on `/flaky`; so the share is exact and needs no chance. */
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
