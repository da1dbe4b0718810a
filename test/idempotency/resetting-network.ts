/** A network between client and server that resets connections after a request has arrived: in the middle of its handler, or in its response. */
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from '../support/listen.ts'

export interface ResettingNetwork {
	readonly url: string
	/** Connections reset when the server had the request, and when it had sent a part of its response. */
	readonly resets: { readonly inHandler: number; readonly inResponse: number }
}

/** `random` returns numbers from 0 to 1. */
export async function resettingNetwork(server: string, random: () => number): Promise<ResettingNetwork> {
	const { hostname, port } = new URL(server)
	const resets = { inHandler: 0, inResponse: 0 }
	const sockets = new Set<Socket>()
	const network = createServer((client) => {
		const upstream = connect(Number(port), hostname)
		for (const socket of [client, upstream]) {
			sockets.add(socket)
			socket.on('error', () => {}).on('close', () => sockets.delete(socket))
		}
		client.on('close', () => upstream.destroy())
		upstream.on('close', () => client.destroy())
		client.on('data', (chunk) => {
			upstream.write(chunk)
			// Only a chunk with a whole request: the server must have it.
			if (random() >= 0.05 || !chunk.includes('}')) return
			resets.inHandler++
			client.resetAndDestroy()
		})
		upstream.on('data', (chunk) => {
			if (random() >= 0.15) return void client.write(chunk)
			resets.inResponse++
			client.write(chunk.subarray(0, Math.floor(random() * chunk.length)), () => client.resetAndDestroy())
		})
	})
	const url = `http://127.0.0.1:${await listen(network)}`
	onTestFinished(async () => {
		for (const socket of sockets) socket.destroy()
		await new Promise((resolve) => network.close(resolve))
	})
	return { url, resets }
}
