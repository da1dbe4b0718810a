/** The HTTP server that messages are sent to. It records every request that it accepts, and fails some, as the seed decides. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receipt {
	readonly id: string
	readonly key: string
	readonly number: number
	/** The attempt of the claim that sent it. */
	readonly attempt: number
	/** The process id of the relay that sent it. */
	readonly relay: number
}

export interface Receiver extends AsyncDisposable {
	readonly url: string
	/** In the order of arrival. */
	readonly receipts: readonly Receipt[]
}

/** How the receiver responds: after up to `maxMs`, and with an error to this share of the requests. */
interface Responses {
	readonly maxMs: number
	readonly failing: number
}

export async function startReceiver(
	random: () => number,
	{ maxMs, failing }: Responses = { maxMs: 10, failing: 0.1 },
): Promise<Receiver> {
	const receipts: Receipt[] = []
	const server = createServer(async (request, response) => {
		try {
			const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
			const isRejected = random() < failing
			if (!isRejected) {
				const { 'idempotency-key': id, 'x-relay': relay, 'x-attempt': attempt } = request.headers
				const { key, number } = body
				receipts.push({ id: String(id), key, number, attempt: Number(attempt), relay: Number(relay) })
			}
			// The delay lets some relays die after the receiver accepted the message and before they receive the response.
			setTimeout(() => response.writeHead(isRejected ? 500 : 204).end(), random() * maxMs)
		} catch {
			// The relay was killed while it sent the body.
		}
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		receipts,
		async [Symbol.asyncDispose]() {
			server.closeAllConnections()
			server.close()
			await once(server, 'close')
		},
	}
}
