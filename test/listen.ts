import { once } from 'node:events'
import type { Server } from 'node:net'

/** Has a server listen on loopback, at a port that was free. Answers which. */
export async function listen(server: Server): Promise<number> {
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	const address = server.address()
	if (address === null || typeof address === 'string') throw new Error('not a TCP server')
	return address.port
}
