/** The mail service: it confirms each order to its customer once, however often the event is delivered. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { now, type Order } from './plan.ts'
import { service } from './service.ts'

export interface MailReport {
	/** The time of the first delivery, by order. */
	readonly confirmed: Readonly<Record<string, number>>
	/** Deliveries of events that had been delivered before. */
	readonly repeated: number
}

await service(async ({ port }) => {
	const confirmed: Record<string, number> = {}
	let repeated = 0
	const onRequest = async (request: IncomingMessage) => {
		const { id } = (await json(request)) as Order
		if (confirmed[id] === undefined) confirmed[id] = now()
		else repeated++
	}
	const server = createServer((request, response) => {
		onRequest(request).then(
			() => response.writeHead(204).end(),
			() => response.destroy(),
		)
	})
	server.listen(port, '127.0.0.1')
	await once(server, 'listening')
	return {
		count: () => Object.keys(confirmed).length,
		report: (): MailReport => ({ confirmed, repeated }),
	}
})
