import { type ClientHttp2Session, connect, type Http2Server } from 'node:http2'
import { onTestFinished } from 'vitest'
import { listen } from '../../support/listen.ts'

/** A client of a new server. Both are closed after the test. */
export async function connected(server: Http2Server): Promise<ClientHttp2Session> {
	const client = connect(`http://127.0.0.1:${await listen(server)}`)
	onTestFinished(() => {
		client.destroy()
		server.close()
	})
	return client
}
