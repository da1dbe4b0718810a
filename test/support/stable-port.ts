import { once } from 'node:events'
import { createServer } from 'node:net'

/** Linux chooses the ports of outgoing connections from 32768 on, Windows and macOS from 49152 on. */
const LOWEST = 20_000
const COUNT = 12_000

/** Each worker of the test runner has ports of its own: two of them that chose the same free port were in each other's way. */
const WORKERS = 16
const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS
const portsOfWorker = COUNT / WORKERS
let next = Math.floor(Math.random() * portsOfWorker)

/**
 * Returns a free port for a server that is stopped and started again, each time another one. Ports that the system assigns are not suitable: while the
 * server is away, an outgoing connection may get its port, and a client that connects to the port may even be connected with itself.
 */
export async function stablePort(): Promise<number> {
	for (;;) {
		const port = LOWEST + worker * portsOfWorker + (next++ % portsOfWorker)
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
