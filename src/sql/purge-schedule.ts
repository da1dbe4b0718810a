/**
 * Deletes rows whose retention is over, about once per `everyMs`, so that a table does not grow forever
 * where no cron job was set up. It runs beside requests and never inside of one: small batches with pauses,
 * one process at a time, by timers that do not keep the process alive.
 *
 * It starts with the first use. A program that creates an engine or an inbox for a command or a test then has
 * no timer. The first wait is any part of the period, because many processes start at the same moment, and
 * because some never get old.
 */
import { printOnce } from '../core/options/print-once.ts'
import { hasLastingTimers } from '../core/runtime/platform.ts'
import type { Runtime } from '../core/runtime/runtime.ts'

const BATCH_SIZE = 500
const PAUSE_MS = 100

/** Later waits are this share of the period, plus a random part of the range. */
const MIN_WAIT = 0.75
const WAIT_RANGE = 0.5

export interface PurgeSettings {
	/** 0: never. */
	readonly everyMs: number
	readonly runtime: Runtime
	/** Deletes at most `limit` rows and returns their number; none while another process does it. */
	purge(limit: number): number | Promise<number>
	/** Returns false while the database fails: after an outage, requests come first. */
	mayRun?(): boolean
	/** What could not be deleted, for a warning: `inbox "orders" could not delete expired marks`. */
	readonly problem: string
}

export class PurgeSchedule {
	readonly #settings: PurgeSettings
	/** A failed purge harms no request, and the next one follows. */
	readonly #printError: (error: unknown) => void
	#state: 'new' | 'started' | 'stopped' = 'new'
	#running: Promise<boolean> | undefined
	#cancel: (() => void) | undefined

	constructor(settings: PurgeSettings) {
		this.#settings = settings
		this.#printError = printOnce((message) =>
			console.warn(`yaoki: ${settings.problem}, and tries it again later: ${message}`),
		)
	}

	/** Called for every request or message. */
	start(): void {
		if (this.#state !== 'new') return
		this.#state = 'started'
		const { everyMs, runtime } = this.#settings
		if (everyMs > 0 && hasLastingTimers()) this.#wait(everyMs * runtime.random())
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
		const { everyMs, runtime } = this.#settings
		this.#running = this.#purgeBatch()
		const hasMore = await this.#running
		this.#running = undefined
		if (this.#state === 'stopped') return
		this.#wait(hasMore ? PAUSE_MS : everyMs * (MIN_WAIT + WAIT_RANGE * runtime.random()))
	}

	/** Returns whether there may be more. */
	async #purgeBatch(): Promise<boolean> {
		const { mayRun, purge } = this.#settings
		try {
			return mayRun?.() !== false && (await purge(BATCH_SIZE)) >= BATCH_SIZE
		} catch (error) {
			this.#printError(error)
			return false
		}
	}
}
