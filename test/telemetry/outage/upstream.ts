/** The dependency: a real HTTP server on loopback that is up, flaky, down or limits the rate. */
import { createServer } from 'node:http'
import { listen } from '../../support/listen.ts'

export interface Upstream extends AsyncDisposable {
	readonly url: string
	mode: 'up' | 'flaky' | 'down' | 'limited'
}

export async function startUpstream(): Promise<Upstream> {
	let requests = 0
	const server = createServer((_request, response) => {
		requests++
		const { mode } = upstream
		if (mode === 'limited') response.writeHead(429, { 'retry-after': '0' })
		else if (mode === 'down' || (mode === 'flaky' && requests % 2 === 0)) response.writeHead(503)
		response.end('{}')
	})
	const upstream: Upstream = {
		url: `http://127.0.0.1:${await listen(server)}`,
		mode: 'up',
		async [Symbol.asyncDispose]() {
			server.closeAllConnections()
			server.close()
		},
	}
	return upstream
}
