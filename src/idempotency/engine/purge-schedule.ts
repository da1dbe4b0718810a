/**
 * Deletes keys whose retention is over, about once per `purgeEveryMs`, so that a table does not grow forever
 * where no cron job was set up. It runs beside requests and never inside of one: small batches with pauses,
 * one process at a time, by timers that do not keep the process alive.
 *
 * It starts with the first request. A program that creates an engine for a command or a test then has no
 * timer. The first wait is any part of the period, because many processes start at the same moment, and
 * because some never get old.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { NewMessages } from './new-messages.ts'
import { hasLastingTimers } from './platform.ts'

const BATCH_SIZE = 500
const PAUSE_MS = 100

/** Later waits are this share of the period, plus a random part of the range. */
const MIN_WAIT = 0.75
const WAIT_RANGE = 0.5

export interface PurgeTarget {
	readonly name: string
	/** 0: never. */
	readonly purgeEveryMs: number
	/** False while the store fails: its first requests after an outage have no neighbor. */
	isWorking(): boolean
	/** Deletes a batch. Returns how many, and 0 if another process does it at this moment. */
	purge(limit: number): number | Promise<number>
}

export class PurgeSchedule {
	readonly #runtime: Runtime
	readonly #target: PurgeTarget
	readonly #messages = new NewMessages()
	#state: 'new' | 'started' | 'stopped' = 'new'
	#running: Promise<void> | undefined
	#cancel: (() => void) | undefined

	constructor(runtime: Runtime, target: PurgeTarget) {
		this.#runtime = runtime
		this.#target = target
	}

	/** Called for every request. */
	start(): void {
		if (this.#state !== 'new') return
		this.#state = 'started'
		const { purgeEveryMs } = this.#target
		if (purgeEveryMs > 0 && hasLastingTimers()) this.#wait(purgeEveryMs * this.#runtime.random())
	}

	/** Resolves when the current batch has ended. */
	async stop(): Promise<void> {
		this.#state = 'stopped'
		this.#cancel?.()
		await this.#running
	}

	#wait(ms: number): void {
		this.#cancel = this.#runtime.setTimer(ms, () => void this.#run(), 'housekeeping')
	}

	async #run(): Promise<void> {
		const { purgeEveryMs } = this.#target
		this.#running = this.#purgeBatch()
			.catch((error) => {
				this.#print(error)
				return false
			})
			.then((hasMore) => {
				this.#running = undefined
				if (this.#state === 'stopped') return
				this.#wait(hasMore ? PAUSE_MS : purgeEveryMs * (MIN_WAIT + WAIT_RANGE * this.#runtime.random()))
			})
		await this.#running
	}

	/** Returns whether there may be more. */
	async #purgeBatch(): Promise<boolean> {
		return this.#target.isWorking() && (await this.#target.purge(BATCH_SIZE)) >= BATCH_SIZE
	}

	/** A failed purge harms no request, and the next one follows. Each message is printed once. */
	#print(error: unknown): void {
		const message = this.#messages.find(error)
		if (message === undefined) return
		console.warn(
			`yaoki: idempotency engine "${this.#target.name}" could not delete expired keys, and tries it again later: ${message}`,
		)
	}
}
