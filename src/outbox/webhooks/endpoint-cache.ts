/**
 * The endpoints that this process sends to, each with its signer. A look-up per message would be a round trip per
 * message; so a change by another process takes effect after a few seconds, and a change by this one immediately.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { createSigner, type Signer } from '../../webhooks/signer.ts'
import type { EndpointRow, EndpointStore } from '../store/endpoint-store.ts'
import { activeSecrets, type SecretEncryption } from './stored-secrets.ts'

const KEEP_MS = 5_000
const MAX_ENDPOINTS = 10_000

/** An endpoint that is ready to send. */
export interface ReadyEndpoint {
	readonly row: EndpointRow
	readonly sign: Signer
}

interface Entry {
	readonly endpoint: Promise<ReadyEndpoint | undefined>
	until: number
}

export class EndpointCache {
	readonly #store: EndpointStore
	readonly #encryption: SecretEncryption | undefined
	readonly #runtime: Runtime
	readonly #entries = new Map<string, Entry>()

	constructor(store: EndpointStore, encryption: SecretEncryption | undefined, runtime: Runtime) {
		this.#store = store
		this.#encryption = encryption
		this.#runtime = runtime
	}

	/** Returns the endpoint; undefined if it does not exist. */
	get(id: string): Promise<ReadyEndpoint | undefined> {
		const now = this.#runtime.now()
		const known = this.#entries.get(id)
		if (known && now < known.until) return known.endpoint
		const entry: Entry = { endpoint: this.#load(id), until: now + KEEP_MS }
		entry.endpoint.then(
			(endpoint) => {
				if (!endpoint) entry.until = 0
			},
			// The next attempt tries again.
			() => {
				entry.until = 0
			},
		)
		// The oldest entry is the first: a Map keeps the order of insertion.
		this.#entries.delete(id)
		if (this.#entries.size >= MAX_ENDPOINTS) this.forget(this.#entries.keys().next().value ?? '')
		this.#entries.set(id, entry)
		return entry.endpoint
	}

	/** The next `get` looks the endpoint up. */
	forget(id: string): void {
		this.#entries.delete(id)
	}

	async #load(id: string): Promise<ReadyEndpoint | undefined> {
		const row = await this.#store.find(id)
		if (!row) return undefined
		const now = this.#runtime.wallNow()
		const { secrets } = await activeSecrets(row.secrets, this.#encryption, now)
		return { row, sign: createSigner(secrets) }
	}
}
