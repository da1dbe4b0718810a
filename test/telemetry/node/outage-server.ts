/** A real HTTP server that can fail, and that records when it did. */
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { listen } from '../../support/listen.ts'

export interface Outage {
	/** Wall times. */
	readonly from: number
	readonly to: number
}

export async function outageServer() {
	let isDown = false
	const counts = { responded: 0, failed: 0 }
	const server = createServer(async (request, response) => {
		if (isDown) {
			counts.failed++
			request.socket.destroy()
			return
		}
		await delay(30)
		counts.responded++
		response.end('ok')
	})
	const port = await listen(server)
	return {
		url: `http://127.0.0.1:${port}/`,
		counts,
		/** Destroys every connection until the promise is settled. */
		async fail(until: () => Promise<void>): Promise<Outage> {
			const from = Date.now()
			isDown = true
			await until()
			isDown = false
			return { from, to: Date.now() }
		},
		async close() {
			server.closeAllConnections()
			await new Promise((resolve) => server.close(resolve))
		},
	}
}
