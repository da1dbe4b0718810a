/**
 * The receiver of the demo: a server on loopback that fails on purpose. Like a good receiver, it remembers
 * the Idempotency-Key of each message and rejects duplicates with status 200. It counts orders by their own
 * id, so a mistake in detecting duplicates would show in the ledger.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { formatNumber } from '../../text/format.ts'

export const RELAY_HEADER = 'x-demo-relay'

/** The number of deliberate failures, by kind. */
export interface Faults {
	serverErrors: number
	tooManyRequests: number
	hung: number
	rejected: number
	outage: number
}

/** Duplicates of messages from a killed relay, by whether the receiver had responded before. */
export interface KillDuplicates {
	answered: number
	unanswered: number
}

interface Delivery {
	readonly relay: string
	isAnswered: boolean
}

const ORDERS_PATH = '/orders'

/** Asks for the stock instead of sending an order. */
export const STOCK_PATH = '/stock'

/** PUT starts an outage, DELETE ends it. Another site cannot send them without a preflight request, which fails. */
export const OUTAGE_PATH = '/outage'

const SERVER_ERROR_SHARE = 0.04
const HANG_SHARE = 0.01
/** Delay of the response: a relay that is killed in between causes a duplicate. */
const RESPONSE_DELAY_MS = { min: 10, spread: 30 }

export class Receiver {
	readonly faults: Faults = {
		serverErrors: 0,
		tooManyRequests: 0,
		hung: 0,
		rejected: 0,
		outage: 0,
	}
	/** The number of times that each order was accepted, by order id. */
	readonly orders: Map<string, number> = new Map()
	duplicates = 0
	/** Duplicates caused by a kill, by the killed relay. */
	readonly duplicatesByKill: Map<string, KillDuplicates> = new Map()
	/** While there is one, every connection is closed without a response. */
	readonly outages: Set<'scheduled' | 'requested'> = new Set()
	/** While false, the receiver fails only what `failNext` asked for. */
	injectsFaults = true
	readonly #runtime: Runtime
	readonly #server: Server
	/** The latest delivery by Idempotency-Key. */
	readonly #deliveries: Map<string, Delivery> = new Map()
	readonly #unanswered: Map<string, number> = new Map()
	readonly #nextFaults: (keyof Faults)[] = []
	/** Idempotency-Keys of the orders whose next delivery is rejected. */
	readonly #toReject: Set<string> = new Set()

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		this.#server = createServer((request, response) => void this.#onRequest(request, response))
	}

	get isDown(): boolean {
		return this.injectsFaults && this.outages.size > 0
	}

	async start(): Promise<string> {
		this.#server.listen(0, '127.0.0.1')
		await once(this.#server, 'listening')
		const { port } = this.#server.address() as AddressInfo
		return `http://127.0.0.1:${port}${ORDERS_PATH}`
	}

	async close(): Promise<void> {
		if (!this.#server.listening) return
		const closed = once(this.#server, 'close')
		this.#server.close()
		this.#server.closeAllConnections()
		await closed
	}

	/** `rejected` fails the next order, and rejects it at its next delivery; a replay is accepted. */
	failNext(fault: keyof Faults): void {
		this.#nextFaults.push(fault)
	}

	/** Returns how many messages of this relay are accepted but not answered yet. */
	countUnanswered(relay: string): number {
		return this.#unanswered.get(relay) ?? 0
	}

	/**
	 * From now on, duplicates of messages from this relay count as caused by the kill: the relay could not ack
	 * them. Some were answered before, because relays ack many messages at a time.
	 */
	markKilled(relay: string): void {
		this.duplicatesByKill.set(relay, { answered: 0, unanswered: 0 })
	}

	async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
		// Undefined if the client disconnected while it was sending.
		const body = await text(request).catch(() => undefined)
		if (body === undefined) return
		if (request.url === OUTAGE_PATH) return this.#switchOutage(request, response)
		if (request.url === STOCK_PATH) return this.#sendStock(response)
		if (request.url !== ORDERS_PATH) return void response.writeHead(404).end()
		const key = String(request.headers['idempotency-key'])
		const fault = this.#nextFault(key)
		if (fault !== undefined) {
			this.faults[fault] += 1
			return FAULT_RESPONSES[fault](response)
		}
		const relay = String(request.headers[RELAY_HEADER])
		const delivery = { relay, isAnswered: false }
		const status = this.#accept(key, delivery, body)
		this.#unanswered.set(relay, this.countUnanswered(relay) + 1)
		response.once('close', () => this.#unanswered.set(relay, this.countUnanswered(relay) - 1))
		const delayMs = RESPONSE_DELAY_MS.min + RESPONSE_DELAY_MS.spread * this.#runtime.random()
		this.#runtime.setTimer(delayMs, () => {
			// A relay that disconnected does not receive the response.
			delivery.isAnswered = !response.destroyed
			response.writeHead(status).end()
		})
	}

	#switchOutage({ method }: IncomingMessage, response: ServerResponse): void {
		if (method === 'PUT') this.outages.add('requested')
		else if (method === 'DELETE') this.outages.delete('requested')
		else return void response.writeHead(405, { allow: 'PUT, DELETE' }).end()
		response.writeHead(204).end()
	}

	/** Fails like an order, but is not part of the ledger. */
	#sendStock(response: ServerResponse): void {
		if (this.isDown) FAULT_RESPONSES.outage(response)
		else if (this.injectsFaults && this.#runtime.random() < SERVER_ERROR_SHARE)
			FAULT_RESPONSES.serverErrors(response)
		else response.writeHead(200).end('in stock')
	}

	#nextFault(key: string): keyof Faults | undefined {
		if (this.isDown) return 'outage'
		if (this.#toReject.delete(key)) return 'rejected'
		// A slow machine may deliver too few orders before the faults end.
		const next = this.#nextFaults.shift()
		if (next === 'rejected') {
			// Its attempts are more to look at if they differ.
			this.#toReject.add(key)
			return 'serverErrors'
		}
		if (next !== undefined || !this.injectsFaults) return next
		const random = this.#runtime.random()
		if (random < SERVER_ERROR_SHARE) return 'serverErrors'
		return random < SERVER_ERROR_SHARE + HANG_SHARE ? 'hung' : undefined
	}

	/** Returns 201 for a new order and 200 for a duplicate. */
	#accept(key: string, delivery: Delivery, body: string): number {
		const earlier = this.#deliveries.get(key)
		this.#deliveries.set(key, delivery)
		if (earlier) {
			this.duplicates += 1
			const byKill = this.duplicatesByKill.get(earlier.relay)
			if (byKill) byKill[earlier.isAnswered ? 'answered' : 'unanswered'] += 1
			return 200
		}
		const { orderId }: { orderId?: unknown } = JSON.parse(body)
		const order = String(orderId)
		this.orders.set(order, (this.orders.get(order) ?? 0) + 1)
		return 201
	}
}

/** Returns the counts as `status 500: 3, 429: 1, 422: 3, hung: 2, outage: 14`. */
export const formatFaults = (faults: Readonly<Faults>): string =>
	FAULT_NAMES.map(([name, fault]) => `${name}: ${formatNumber(faults[fault])}`).join(', ')

const FAULT_NAMES: readonly (readonly [name: string, fault: keyof Faults])[] = [
	['status 500', 'serverErrors'],
	['429', 'tooManyRequests'],
	['422', 'rejected'],
	['hung', 'hung'],
	['outage', 'outage'],
]

const FAULT_RESPONSES: Readonly<Record<keyof Faults, (response: ServerResponse) => void>> = {
	serverErrors: (response) => void response.writeHead(500).end(),
	tooManyRequests: (response) => void response.writeHead(429, { 'retry-after': '1' }).end(),
	hung: () => {},
	rejected: (response) => void response.writeHead(422).end('{"error":"unknown address"}'),
	// Like a machine that is off: the connection breaks without a response.
	outage: (response) => void response.destroy(),
}
