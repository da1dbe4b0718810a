/** A shop on the loopback whose next responses can be set. */
import { createServer } from 'node:http'

export interface Shop {
	readonly url: string
	/** Every request so far, as `method key`. */
	readonly seen: readonly string[]
	/** Sets the statuses of the next responses; after them it responds with 200. */
	respondWith(...statuses: readonly number[]): void
	close(): void
}

export async function openShop(): Promise<Shop> {
	const seen: string[] = []
	let statusQueue: number[] = []
	const server = createServer(({ method, headers }, response) => {
		seen.push(`${method} ${headers['idempotency-key'] ?? 'without a key'}`)
		response.writeHead(statusQueue.shift() ?? 200)
		response.end('green tea: 4.20')
	})
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	const address = server.address()
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}/tea`,
		seen,
		respondWith: (...statuses) => {
			statusQueue = [...statuses]
		},
		close: () => {
			server.close()
			server.closeAllConnections()
		},
	}
}
