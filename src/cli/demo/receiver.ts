/**
 * The other side: a server on loopback that fails on purpose. It does what a good receiver description: it remembers the Idempotency-Key of
 * what it has taken, and refuses a repeat with a friendly answer. What it took it counts by the order's own id, so that a mistake in
 * telling repeats apart would show in the ledger.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Runtime } from '../../core/runtime/runtime.ts'

/** The relay that sends says its name in this header. */
export const RELAY_HEADER = 'x-demo-relay'

/** How often it failed on purpose, by how. */
export interface Faults {
	serverErrors: number
	tooMany: number
	hung: number
	outage: number
}

/** Repeats of what a relay brought before it was killed, by whether it had been answered. */
export interface Repeats {
	answered: number
	unanswered: number
}

interface Bringing {
	readonly relay: string
	isAnswered: boolean
}

const SERVER_ERROR_SHARE = 0.04
const HANG_SHARE = 0.01
/** Taken, and not answered yet: who is killed in between makes a repeat. */
const ANSWER_MS = { least: 10, spread: 30 }

export class Receiver {
	readonly faults: Faults = { serverErrors: 0, tooMany: 0, hung: 0, outage: 0 }
	/** How often each order was taken, by its own id. */
	readonly orders: Map<string, number> = new Map()
	/** How many repeats were refused. */
	refused = 0
	/** Those among them that a kill made, by the relay that was killed. */
	readonly refusedByKill: Map<string, Repeats> = new Map()
	/** Does it hang up on all? */
	isDown = false
	/** Does it fail on purpose at all? */
	isMoody = true
	readonly #runtime: Runtime
	readonly #server: Server
	/** By the key of what was taken: who brought it, of several the latest. */
	readonly #taken: Map<string, Bringing> = new Map()
	readonly #unanswered: Map<string, number> = new Map()
	readonly #timers: Set<() => void> = new Set()
	readonly #next: (keyof Faults)[] = []

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		this.#server = createServer((request, response) => void this.#hear(request, response))
	}

	/** Answers where it listens. */
	async start(): Promise<string> {
		this.#server.listen(0, '127.0.0.1')
		await once(this.#server, 'listening')
		const { port } = this.#server.address() as AddressInfo
		return `http://127.0.0.1:${port}/orders`
	}

	async close(): Promise<void> {
		for (const cancel of this.#timers) cancel()
		if (!this.#server.listening) return
		const closed = once(this.#server, 'close')
		this.#server.close()
		this.#server.closeAllConnections()
		await closed
	}

	/** The next request fails like that. */
	failNext(fault: keyof Faults): void {
		this.#next.push(fault)
	}

	/** How many messages of this relay were taken, and wait for their answer. */
	unansweredOf(relay: string): number {
		return this.#unanswered.get(relay) ?? 0
	}

	/**
	 * From now on a repeat of what this relay brought is the kill's doing: it could not write down that it had brought it. Some of that
	 * was answered already, for relays write down many at a time.
	 */
	killed(relay: string): void {
		this.refusedByKill.set(relay, { answered: 0, unanswered: 0 })
	}

	async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const body = await textOf(request)
		// Who hung up while sending is not answered, and nothing of it is taken.
		if (body === undefined) return
		const fault = this.#faultFor()
		if (fault !== undefined) return FAILING[fault](response)
		const id = String(request.headers['idempotency-key'])
		const relay = String(request.headers[RELAY_HEADER])
		const bringing = { relay, isAnswered: false }
		const status = this.#take(id, bringing, body)
		this.#unanswered.set(relay, this.unansweredOf(relay) + 1)
		response.once('close', () => this.#unanswered.set(relay, this.unansweredOf(relay) - 1))
		this.#after(ANSWER_MS.least + ANSWER_MS.spread * this.#runtime.random(), () => {
			// Whoever has hung up by now does not hear it.
			bringing.isAnswered = !response.destroyed
			response.writeHead(status).end()
		})
	}

	#faultFor(): keyof Faults | undefined {
		const fault = this.#mood()
		if (fault !== undefined) this.faults[fault] += 1
		return fault
	}

	#mood(): keyof Faults | undefined {
		if (this.isDown) return 'outage'
		if (!this.isMoody) return undefined
		const next = this.#next.shift()
		if (next !== undefined) return next
		const chance = this.#runtime.random()
		if (chance < SERVER_ERROR_SHARE) return 'serverErrors'
		return chance < SERVER_ERROR_SHARE + HANG_SHARE ? 'hung' : undefined
	}

	/** Answers 201 for what is new and 200 for a repeat. */
	#take(id: string, bringing: Bringing, body: string): number {
		const before = this.#taken.get(id)
		this.#taken.set(id, bringing)
		if (before) {
			this.refused += 1
			const byKill = this.refusedByKill.get(before.relay)
			if (byKill) byKill[before.isAnswered ? 'answered' : 'unanswered'] += 1
			return 200
		}
		const { orderId }: { orderId?: unknown } = JSON.parse(body)
		const order = String(orderId)
		this.orders.set(order, (this.orders.get(order) ?? 0) + 1)
		return 201
	}

	#after(ms: number, then: () => void): void {
		const cancel = this.#runtime.setTimer(ms, () => {
			this.#timers.delete(cancel)
			then()
		})
		this.#timers.add(cancel)
	}
}

const FAILING: Readonly<Record<keyof Faults, (response: ServerResponse) => void>> = {
	serverErrors: (response) => void response.writeHead(500).end(),
	tooMany: (response) => void response.writeHead(429, { 'retry-after': '1' }).end(),
	hung: () => {},
	// As a machine that is gone: no answer, and no connection.
	outage: (response) => void response.destroy(),
}

async function textOf(request: IncomingMessage): Promise<string | undefined> {
	let text = ''
	try {
		for await (const chunk of request.setEncoding('utf8')) text += chunk
		return text
	} catch {
		return undefined
	}
}
