import { once } from 'node:events'
import { createServer } from 'node:net'

/** Linux chooses the ports of outgoing connections from 32768 on, Windows and macOS from 49152 on. */
const LOWEST = 20_000
const COUNT = 12_000

/**
 * Returns a free port for a server that is stopped and started again. Ports that the system assigns are not suitable: while the server is away, an outgoing
 * connection may get its port, and a client that connects to the port may even be connected with itself.
 */
export async function stablePort(): Promise<number> {
	for (;;) {
		const port = LOWEST + Math.floor(Math.random() * COUNT)
		const server = createServer()
		server.listen(port, '127.0.0.1')
		const isFree = await once(server, 'listening').then(
			() => true,
			() => false,
		)
		if (!isFree) continue
		server.close()
		await once(server, 'close')
		return port
	}
}
