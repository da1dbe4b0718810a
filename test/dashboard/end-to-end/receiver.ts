/** The dependency of the program: a server on loopback that can be switched to fail. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Receiver {
	readonly url: string
	/** While true, every request gets 503. */
	isFailing: boolean
	/** Responses to the next requests about an order, by its id. Afterwards it is accepted. */
	readonly statuses: Map<string, number[]>
	/** The ids of the orders that were accepted. */
	readonly accepted: readonly string[]
	/** Paths of webhooks that get 500. */
	readonly failingHooks: Set<string>
	/** The paths and types of the webhooks that were accepted. */
	readonly hooks: readonly string[]
	close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
	const statuses = new Map<string, number[]>()
	const accepted: string[] = []
	const failingHooks = new Set<string>()
	const hooks: string[] = []
	const server = createServer(async (request, response) => {
		const { order, type }: { order: string; type: string } = JSON.parse(await text(request))
		const { url: path = '/' } = request
		if (path !== '/') {
			const isFailing = failingHooks.has(path)
			if (!isFailing) hooks.push(`${path} ${type}`)
			return void response.writeHead(isFailing ? 500 : 204).end()
		}
		const status = receiver.isFailing ? 503 : (statuses.get(order)?.shift() ?? 200)
		if (status === 200) accepted.push(order)
		const body =
			status === 200
				? { ok: true }
				: { error: status === 503 ? 'maintenance' : `unknown address of ${order}` }
		response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	const receiver: Receiver = {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		isFailing: false,
		statuses,
		accepted,
		failingHooks,
		hooks,
		async close() {
			server.closeAllConnections()
			await new Promise((resolve) => server.close(resolve))
		},
	}
	return receiver
}
