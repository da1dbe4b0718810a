/**
 * What all parts of a relay share: the store, the time, whom to tell, and how a database that is away is waited for. A relay never gives up on
 * its database: it asks again, less and less often, and what it has to write down stays in memory until then.
 */
import { delayMs } from '../../core/backoff/delay.ts'
import { readBackoff } from '../../core/backoff/options.ts'
import { presets } from '../../core/backoff/presets.ts'
import { observe } from '../../core/engine/hooks.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { failureNote } from '../message/failure-note.ts'
import type { Store } from '../store/store.ts'
import { RelayStoppedError } from './delivery.ts'
import type { RelayEventDetails, RelayListener } from './events.ts'
import type { RelaySettings } from './settings.ts'

const PATIENCE = readBackoff({ ...presets.database, baseDelayMs: 100, maxDelayMs: 5_000 })

export class RelayContext {
	readonly store: Store
	readonly settings: RelaySettings
	readonly runtime: Runtime
	/** Who holds what this relay claims; another for every start. */
	readonly owner: string
	readonly keepsHistory: boolean
	sent = 0
	failed = 0
	dead = 0
	isStopping = false
	readonly #listeners: ReadonlySet<RelayListener>
	/** The database's time when this process's own clock was 0. */
	#timeOffset: number | undefined
	#isGivingUp = false
	readonly #pauses = new Set<() => void>()

	constructor(
		store: Store,
		settings: RelaySettings,
		owner: string,
		keepsHistory: boolean,
		listeners: ReadonlySet<RelayListener>,
	) {
		this.store = store
		this.settings = settings
		this.runtime = settings.runtime
		this.owner = owner
		this.keepsHistory = keepsHistory
		this.#listeners = listeners
	}

	/** With no listener an event is not even made. */
	get isHeard(): boolean {
		return this.#listeners.size > 0
	}

	tell(details: RelayEventDetails): void {
		if (!this.isHeard) return
		const event = { ...details, relay: this.settings.name, timestamp: this.runtime.wallNow() }
		for (const listener of this.#listeners) observe('onEvent', listener, event)
	}

	/** The database said that it was this time there. */
	sawTime(databaseNow: number): void {
		this.#timeOffset = databaseNow - this.runtime.now()
	}

	/** The database's time now, as far as one can tell without asking. */
	databaseNow(): number {
		return this.runtime.now() + (this.#timeOffset ?? 0)
	}

	/** Asks the store until it answers. Rejects only when the relay was stopped and has no more time. */
	async ask<T>(doing: string, question: () => Promise<T>): Promise<T> {
		for (let failures = 0; ; failures++) {
			try {
				const answer = await question()
				if (failures > 0) this.tell({ type: 'store_recovered', doing })
				return answer
			} catch (error) {
				if (this.#isGivingUp) throw error
				const retryInMs = Math.round(delayMs(PATIENCE, failures, 0, this.runtime))
				const { type: errorType, message: errorMessage } = failureNote(error)
				this.tell({ type: 'store_failed', doing, errorType, errorMessage, retryInMs })
				await this.#pause(retryInMs)
				if (this.#isGivingUp) throw new RelayStoppedError()
			}
		}
	}

	/** What waits for the database waits no longer. */
	giveUp(): void {
		this.#isGivingUp = true
		for (const end of this.#pauses) end()
	}

	#pause(ms: number): Promise<void> {
		return new Promise((resolve) => {
			const end = () => {
				cancel()
				this.#pauses.delete(end)
				resolve()
			}
			const cancel = this.runtime.setTimer(ms, end)
			this.#pauses.add(end)
		})
	}
}
