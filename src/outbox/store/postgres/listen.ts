/**
 * Hearing of new messages from other processes. NOTIFY goes over a connection of the store's own, never in the user's transaction, where it
 * would make all commits wait in one row. LISTEN needs a connection that stays; when it is lost it is taken up again, ever more
 * slowly, and then it rings once, for whatever was missed. Until then the relay's own looks find everything, only later.
 */
import { computeDelayMs } from '../../../core/backoff/delay.ts'
import { readBackoff } from '../../../core/backoff/options.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { StoreError } from '../errors.ts'
import type { PgClient, PgPool } from './client.ts'

/** A database that restarts is back in seconds; one that is gone for an hour is not to be asked all the time. */
const RECONNECT = readBackoff({ baseDelayMs: 100, maxDelayMs: 10_000, jitterStrategy: 'equal' })

export const channelOf = (schema: string): string => `${schema}_outbox`

export class PgListener {
	readonly #pool: PgPool
	readonly #channel: string
	readonly #runtime: Runtime
	readonly #onRing: () => void
	readonly #onError: (error: unknown) => void
	#client: PgClient | undefined
	#isStopped = false
	#failures = 0
	#cancelWait: (() => void) | undefined

	constructor(
		pool: PgPool,
		channel: string,
		runtime: Runtime,
		onRing: () => void,
		onError: (error: unknown) => void,
	) {
		this.#pool = pool
		this.#channel = channel
		this.#runtime = runtime
		this.#onRing = onRing
		this.#onError = onError
	}

	/** Does not wait for a connection that may never come; when it comes it is handed back. */
	stop(): void {
		this.#isStopped = true
		this.#cancelWait?.()
		// Thrown away rather than handed back, for the next one would be rung at.
		if (this.#client !== undefined) this.#letGo(this.#client)
	}

	/** Resolves when it listens, or has failed to and goes on trying. */
	async start(): Promise<void> {
		const { max } = (this.#pool as { readonly options?: { readonly max?: unknown } }).options ?? {}
		// Everything else would wait for this one connection, without a word.
		if (max === 1)
			throw new StoreError(
				'listening',
				'the pool has one connection',
				'a relay needs two, for one stays with LISTEN',
			)
		let client: PgClient | undefined
		try {
			client = await this.#pool.connect()
			if (this.#isStopped) return client.release()
			this.#hear(client)
			await client.query(`listen "${this.#channel}"`)
		} catch (error) {
			if (client === undefined) this.#lost(error)
			else this.#drop(client, error)
			return
		}
		if (this.#client !== client) return
		const isAgain = this.#failures > 0
		this.#failures = 0
		if (isAgain) this.#onRing()
	}

	readonly #notified = (): void => {
		if (!this.#isStopped) this.#onRing()
	}
	#broken: ((error?: unknown) => void) | undefined

	#hear(client: PgClient): void {
		this.#client = client
		this.#broken = (error) => this.#drop(client, error ?? new Error('the connection that listens was ended'))
		client.on('error', this.#broken)
		client.on('end', this.#broken)
		client.on('notification', this.#notified)
	}

	/** Once for each connection, whichever of its events comes first. */
	#drop(client: PgClient, error: unknown): void {
		if (this.#client !== client) return
		this.#letGo(client)
		this.#lost(error)
	}

	#letGo(client: PgClient): void {
		this.#client = undefined
		client.removeListener('notification', this.#notified)
		// 'error' stays heard: what a dying connection still has to say must not end the process.
		if (this.#broken) client.removeListener('end', this.#broken)
		client.release(true)
	}

	#lost(error: unknown): void {
		if (this.#isStopped) return
		const waitMs = computeDelayMs(RECONNECT, this.#failures, RECONNECT.baseDelayMs, this.#runtime)
		this.#failures++
		this.#cancelWait = this.#runtime.setTimer(waitMs, () => void this.start(), 'housekeeping')
		this.#onError(error)
	}
}
