/** A shop on the loopback that has its moods: what it does with the next requests is said beforehand. */
import { createServer } from 'node:http'

export interface Shop {
	readonly url: string
	/** Every request so far, as `method key`. */
	readonly seen: readonly string[]
	/** The next answers are these statuses; after them it is well. */
	willAnswer(...statuses: readonly number[]): void
	close(): void
}

export async function openShop(): Promise<Shop> {
	const seen: string[] = []
	let moods: number[] = []
	const server = createServer(({ method, headers }, response) => {
		seen.push(`${method} ${headers['idempotency-key'] ?? 'without a key'}`)
		response.writeHead(moods.shift() ?? 200)
		response.end('green tea: 4.20')
	})
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	const address = server.address()
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}/tea`,
		seen,
		willAnswer: (...statuses) => {
			moods = [...statuses]
		},
		close: () => {
			server.close()
			server.closeAllConnections()
		},
	}
}
