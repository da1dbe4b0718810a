/**
 * The connections of one client: reused while the receiver keeps them open, bounded, and each checked before
 * its first request. The agents belong to the client. The global ones would reuse connections that other code
 * has opened without a check, and use the proxy of the environment, which would resolve the host by itself.
 */
import type * as Http from 'node:http'
import type * as Https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AllowList } from './allow-list.ts'
import { guardedLookup, rejectConnection, type WebhookLookup } from './guarded-lookup.ts'

/**
 * Idle connections of all hosts. (Rejected: `maxTotalSockets` of an agent. It counts idle connections too and
 * does not close them for others, so 1,000 endpoints that were called once would delay the next one.
 * Connections in use are as many as deliveries in flight, which the relay bounds.)
 */
const MAX_IDLE = 256

/** Most servers close idle connections after 5 s or later. A request on one that is being closed fails. */
const IDLE_MS = 4_000

export interface NodeModules {
	readonly http: typeof Http
	readonly https: typeof Https
}

type Agent = Http.Agent | Https.Agent

export class ConnectionPool {
	readonly modules: NodeModules
	readonly #allow: AllowList
	readonly #options: Http.AgentOptions
	/** In the order in which they became idle. */
	readonly #idle = new Set<Duplex>()
	/** Connections whose remote address was checked. */
	readonly #checked = new WeakSet<Duplex>()
	#agents: { readonly http: Http.Agent; readonly https: Https.Agent } | undefined

	constructor(modules: NodeModules, lookup: WebhookLookup, allow: AllowList) {
		this.modules = modules
		this.#allow = allow
		this.#options = {
			keepAlive: true,
			// No limit per host: endpoints of many customers may share one, such as an integration platform, and those
			// that hang would delay the others.
			timeout: IDLE_MS,
			scheduling: 'lifo',
			// An agent's own option overrides the one of a request.
			lookup: guardedLookup(lookup, allow),
		}
	}

	/** Returns the agent for `http:` or `https:`. */
	agentFor(protocol: string): Agent {
		this.#agents ??= {
			http: this.#withBound(new this.modules.http.Agent(this.#options)),
			// NODE_TLS_REJECT_UNAUTHORIZED would switch verification off.
			https: this.#withBound(new this.modules.https.Agent({ ...this.#options, rejectUnauthorized: true })),
		}
		return protocol === 'http:' ? this.#agents.http : this.#agents.https
	}

	isChecked(socket: Socket): boolean {
		return this.#checked.has(socket)
	}

	/**
	 * Checks the address of an open connection. The lookup has checked it before, so on Node this never
	 * fails. It protects if another part of the process, or another runtime, does not use the lookup.
	 */
	check(hostname: string, socket: Socket): Error | undefined {
		const { remoteAddress } = socket
		if (remoteAddress === undefined) {
			const text = 'the connection has no remote address: it is closed, or this runtime is not Node'
			return Object.assign(new Error(text), { code: 'ECONNRESET' })
		}
		const rejected = rejectConnection(hostname, remoteAddress, this.#allow)
		if (rejected) return rejected
		this.#checked.add(socket)
		socket.once('close', () => this.#idle.delete(socket))
		return undefined
	}

	/**
	 * Closes idle connections now, and connections in use after their response. A later request opens new
	 * ones.
	 */
	close(): void {
		const agents = this.#agents
		this.#agents = undefined
		for (const agent of agents ? [agents.http, agents.https] : []) agent.keepSocketAlive = () => false
		for (const socket of this.#idle) socket.destroy()
	}

	#withBound<A extends Agent>(agent: A): A {
		const { keepSocketAlive, reuseSocket } = agent
		agent.keepSocketAlive = (socket) => {
			// The request was aborted before it had its connection. Node would keep it and connect it.
			if (!this.#checked.has(socket)) return false
			// It calls `unref`, so that an idle connection does not keep the process alive.
			const isKept: unknown = keepSocketAlive.call(agent, socket)
			if (isKept === false) return false
			const [oldest] = this.#idle
			if (oldest && this.#idle.size >= MAX_IDLE) oldest.destroy()
			this.#idle.add(socket)
			return true
		}
		agent.reuseSocket = (socket, request) => {
			this.#idle.delete(socket)
			reuseSocket.call(agent, socket, request)
		}
		return agent
	}
}
