/**
 * Deletes keys whose retention is over, about once per `purgeEveryMs`, so that a table does not grow forever
 * where no cron job was set up. It runs beside requests and never inside of one: small batches with pauses,
 * one process at a time, by timers that do not keep the process alive.
 *
 * It starts with the first request. A program that creates an engine for a command or a test then has no
 * timer. The first wait is any part of the period, because many processes start at the same moment, and
 * because some never get old.
 */
import type { IdempotencySettings } from './options.ts'
import { hasLastingTimers } from './platform.ts'
import { printOnce } from './print-once.ts'

const BATCH_SIZE = 500
const PAUSE_MS = 100

/** Later waits are this share of the period, plus a random part of the range. */
const MIN_WAIT = 0.75
const WAIT_RANGE = 0.5

export class PurgeSchedule {
	readonly #settings: IdempotencySettings<unknown, never>
	readonly #isStoreWorking: () => boolean
	/** A failed purge harms no request, and the next one follows. */
	readonly #printError: (error: unknown) => void
	#state: 'new' | 'started' | 'stopped' = 'new'
	#running: Promise<boolean> | undefined
	#cancel: (() => void) | undefined

	/** `isStoreWorking` returns false while the store fails: after an outage, requests come first. */
	constructor(settings: IdempotencySettings<unknown, never>, isStoreWorking: () => boolean) {
		this.#settings = settings
		this.#isStoreWorking = isStoreWorking
		this.#printError = printOnce((message) =>
			console.warn(
				`yaoki: idempotency engine "${settings.name}" could not delete expired keys, and tries it again later: ${message}`,
			),
		)
	}

	/** Called for every request. */
	start(): void {
		if (this.#state !== 'new') return
		this.#state = 'started'
		const { purgeEveryMs, runtime } = this.#settings
		if (purgeEveryMs > 0 && hasLastingTimers()) this.#wait(purgeEveryMs * runtime.random())
	}

	/** Resolves when the current batch has ended. */
	async stop(): Promise<void> {
		this.#state = 'stopped'
		this.#cancel?.()
		await this.#running
	}

	#wait(ms: number): void {
		this.#cancel = this.#settings.runtime.setTimer(ms, () => void this.#run(), 'housekeeping')
	}

	async #run(): Promise<void> {
		const { purgeEveryMs, runtime } = this.#settings
		this.#running = this.#purgeBatch()
		const hasMore = await this.#running
		this.#running = undefined
		if (this.#state === 'stopped') return
		this.#wait(hasMore ? PAUSE_MS : purgeEveryMs * (MIN_WAIT + WAIT_RANGE * runtime.random()))
	}

	/** Returns whether there may be more. Deletes nothing while another process does it. */
	async #purgeBatch(): Promise<boolean> {
		try {
			return this.#isStoreWorking() && (await this.#settings.store.purge(BATCH_SIZE, true)) >= BATCH_SIZE
		} catch (error) {
			this.#printError(error)
			return false
		}
	}
}
