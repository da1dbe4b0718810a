/**
 * The bank: it charges cards, a few at a time. A charge with an idempotency key that it knows returns the first receipt and charges nothing.
 *
 * When it goes down, it has made the charges that it was processing, and their responses are lost. After that it refuses connections, or
 * responds with 503, as a load balancer whose servers are away does.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { now, type Order } from './plan.ts'
import { service } from './service.ts'

export interface Charge {
	readonly order: string
	readonly at: number
}

export interface BankReport {
	readonly charges: readonly Charge[]
	/** The time of each request that reached the bank. */
	readonly requests: readonly number[]
	/** How many requests did not get a receipt. */
	readonly failures: number
	readonly longestQueue: number
}

interface Job {
	readonly order: Order
	readonly key: string | undefined
	readonly response: ServerResponse
}

await service(({ port, plan: { bank } }) => {
	const charges: Charge[] = []
	const requests: number[] = []
	const receipts = new Map<string, string>()
	const queue: Job[] = []
	const active = new Set<Job>()
	let failures = 0
	let longestQueue = 0
	let isDown = false

	const charge = ({ order, key }: Job): string => {
		const known = key === undefined ? undefined : receipts.get(key)
		if (known !== undefined) return known
		const receipt = `receipt ${charges.push({ order: order.id, at: now() })}`
		if (key !== undefined) receipts.set(key, receipt)
		return receipt
	}

	const work = () => {
		while (active.size < bank.workers) {
			const job = queue.shift()
			if (!job) return
			active.add(job)
			setTimeout(() => {
				// The outage has processed it.
				if (!active.delete(job)) return
				respond(job.response, 201, { receipt: charge(job) })
				work()
			}, bank.serviceMs)
		}
	}

	const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
		requests.push(now())
		if (isDown) {
			failures++
			return respond(response, 503, { error: 'no server is available' })
		}
		const order = (await json(request)) as Order
		const key = request.headers['idempotency-key']
		queue.push({ order, key: typeof key === 'string' ? key : undefined, response })
		longestQueue = Math.max(longestQueue, queue.length)
		work()
	}
	const server = createServer((request, response) => {
		// The caller was killed.
		onRequest(request, response).catch(() => response.destroy())
	})
	const listen = async () => {
		server.listen(port, '127.0.0.1')
		await once(server, 'listening')
	}

	return listen().then(() => ({
		async refuse() {
			isDown = true
			for (const job of active) charge(job)
			failures += active.size + queue.length
			active.clear()
			queue.length = 0
			const closed = once(server, 'close')
			server.close()
			server.closeAllConnections()
			await closed
		},
		/** Connections are accepted again, and requests are rejected. */
		reject: listen,
		serve() {
			isDown = false
			return now()
		},
		report: (): BankReport => ({ charges, requests, failures, longestQueue }),
	}))
})

function respond(response: ServerResponse, status: number, body: object): void {
	response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
