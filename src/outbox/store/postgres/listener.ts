/**
 * Receives notifications about new messages from other processes. NOTIFY uses the store's own connection,
 * never the user's transaction, where it would serialize all commits. LISTEN needs a permanent connection; if
 * it is lost, it is restored with backoff and then reports one notification for any that were missed. Until
 * then the relay's polling finds everything, only later.
 */
import { computeDelayMs } from '../../../core/backoff/formula.ts'
import { readBackoff } from '../../../core/backoff/options.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import type { PgClient, PgPool } from '../../../sql/clients.ts'
import { OutboxStoreError } from '../errors.ts'

/** A restarted database is back within seconds; one that is down for an hour should not be asked constantly. */
const RECONNECT = readBackoff({ baseDelayMs: 100, maxDelayMs: 10_000, jitterStrategy: 'equal' })

export const channelOf = (schema: string): string => `${schema}_outbox`

interface ListenerOptions {
	readonly pool: PgPool
	readonly channel: string
	readonly runtime: Runtime
	onNotify(): void
	onError(error: unknown): void
}

export class PgListener {
	readonly #given: ListenerOptions
	#client: PgClient | undefined
	#isStopped = false
	#failures = 0
	#cancelWait: (() => void) | undefined

	constructor(given: ListenerOptions) {
		this.#given = given
	}

	/** Does not wait for a pending connection, which may never arrive; it is released when it does. */
	stop(): void {
		this.#isStopped = true
		this.#cancelWait?.()
		// Destroyed instead of reused: the next user of the connection would receive the notifications.
		if (this.#client !== undefined) this.#destroy(this.#client)
	}

	/** Resolves when it listens, or has failed and keeps trying. */
	async start(): Promise<void> {
		const { max } = (this.#given.pool as { readonly options?: { readonly max?: unknown } }).options ?? {}
		// Otherwise everything else would wait silently for the only connection.
		if (max === 1)
			throw new OutboxStoreError(
				'listen',
				'the pool has only one connection',
				'A relay needs two, because LISTEN keeps one.',
			)
		let client: PgClient | undefined
		try {
			client = await this.#given.pool.connect()
			if (this.#isStopped) return client.release()
			this.#subscribe(client)
			await client.query(`listen "${this.#given.channel}"`)
		} catch (error) {
			if (client === undefined) this.#reconnect(error)
			else this.#drop(client, error)
			return
		}
		if (this.#client !== client) return
		const isReconnected = this.#failures > 0
		this.#failures = 0
		if (isReconnected) this.#given.onNotify()
	}

	readonly #notified = (): void => {
		if (!this.#isStopped) this.#given.onNotify()
	}
	#broken: ((error?: unknown) => void) | undefined

	#subscribe(client: PgClient): void {
		this.#client = client
		this.#broken = (error) => this.#drop(client, error ?? new Error('The listening connection ended'))
		client.on('error', this.#broken)
		client.on('end', this.#broken)
		client.on('notification', this.#notified)
	}

	/** Acts once per connection, whichever of its events comes first. */
	#drop(client: PgClient, error: unknown): void {
		if (this.#client !== client) return
		this.#destroy(client)
		this.#reconnect(error)
	}

	#destroy(client: PgClient): void {
		this.#client = undefined
		client.removeListener('notification', this.#notified)
		// The 'error' handler stays: a late error without a handler would end the process.
		if (this.#broken) client.removeListener('end', this.#broken)
		client.release(true)
	}

	#reconnect(error: unknown): void {
		if (this.#isStopped) return
		const waitMs = computeDelayMs(RECONNECT, this.#failures, RECONNECT.baseDelayMs, this.#given.runtime)
		this.#failures++
		this.#cancelWait = this.#given.runtime.setTimer(waitMs, () => void this.start(), 'housekeeping')
		this.#given.onError(error)
	}
}
