/** The other side: keeps a ledger of all that it answered with success, and fails now and then, as the seed has it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receipt {
	readonly id: string
	readonly key: string
	readonly number: number
	/** Which process sent it. */
	readonly relay: number
}

export interface Receiver extends AsyncDisposable {
	readonly url: string
	readonly receipts: Receipt[]
	/** Resolves when the condition holds; looked at after every success. */
	until(holds: () => boolean): Promise<void>
}

export async function receiver(chance: () => number): Promise<Receiver> {
	const receipts: Receipt[] = []
	const waiting = new Map<() => boolean, () => void>()
	const server = createServer(async (request, response) => {
		try {
			const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
			const isBad = chance() < 0.1
			if (!isBad) {
				const { 'idempotency-key': id, 'x-relay': relay } = request.headers
				receipts.push({ id: String(id), key: body.key, number: body.number, relay: Number(relay) })
			}
			// So that some are killed between the success and its answer.
			setTimeout(() => response.writeHead(isBad ? 500 : 204).end(), chance() * 10)
			for (const [holds, resolve] of waiting) if (holds()) resolve()
		} catch {
			// The relay was killed while it sent.
		}
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		receipts,
		async until(holds) {
			if (!holds()) await new Promise<void>((resolve) => waiting.set(holds, resolve))
			waiting.delete(holds)
		},
		async [Symbol.asyncDispose]() {
			server.closeAllConnections()
			server.close()
			await once(server, 'close')
		},
	}
}
