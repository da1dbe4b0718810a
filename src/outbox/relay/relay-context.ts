/**
 * What all parts of a relay share: the store, the time, whom to tell, and how a database that is away is waited for. A relay never gives up on
 * its database: it asks again, less and less often, and what it has to write down stays in memory until then.
 */
import { computeDelayMs } from '../../core/backoff/delay.ts'
import { readBackoff } from '../../core/backoff/options.ts'
import { presets } from '../../core/backoff/presets.ts'
import { notify } from '../../core/engine/hooks.ts'
import { TimeoutError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { failureNote } from '../message/failure-note.ts'
import type { Store } from '../store/store.ts'
import { RelayStoppedError } from './delivery.ts'
import type { RelayEventDetails, RelayListener } from './events.ts'
import type { RelaySettings } from './settings.ts'

/** Longer than a store itself waits for others, so that what it does is not asked for twice. */
const LEAST_ANSWER_MS = 15_000

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
	/** Has the database failed to answer lately, and not answered since? */
	isAway = false
	readonly #listeners: ReadonlySet<RelayListener>
	/** The database's time when this process's own clock was 0. */
	#timeOffset: number | undefined
	#isGivingUp = false
	readonly #waits = new Set<() => void>()

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
		for (const listener of this.#listeners) notify('onEvent', listener, event)
	}

	/** The database said that it was this time there. */
	sawTime(databaseNow: number): void {
		this.#timeOffset = databaseNow - this.runtime.now()
	}

	/** The database's time now, as far as one can tell without asking. */
	databaseNow(): number {
		return this.runtime.now() + (this.#timeOffset ?? 0)
	}

	/**
	 * Asks the store until it answers; the question is told how often it has failed before. Rejects only when the relay was stopped and has no
	 * more time.
	 */
	async ask<T>(doing: string, question: (failures: number) => Promise<T>): Promise<T> {
		for (let failures = 0; ; failures++) {
			try {
				const answer = await this.once(() => question(failures))
				this.isAway = false
				if (failures > 0) this.tell({ type: 'store_recovered', doing })
				return answer
			} catch (error) {
				if (this.#isGivingUp) throw error
				this.isAway = true
				const retryInMs = Math.round(computeDelayMs(PATIENCE, failures, 0, this.runtime))
				const { type: errorType, message: errorMessage } = failureNote(error)
				this.tell({ type: 'store_failed', doing, errorType, errorMessage, retryInMs })
				await this.#pause(retryInMs)
				if (this.#isGivingUp) throw new RelayStoppedError()
			}
		}
	}

	/** Asks once, and does not wait for ever: what is sent into a connection that is only half there is never answered. */
	once<T>(question: () => Promise<T>): Promise<T> {
		const answerMs = Math.max(LEAST_ANSWER_MS, this.settings.leaseMs / 2)
		return new Promise((resolve, reject) => {
			const end = this.#endable(answerMs, (isTimeout) =>
				reject(isTimeout ? new TimeoutError('store', answerMs) : new RelayStoppedError()),
			)
			new Promise<T>((answer) => answer(question())).then(
				(answer) => {
					end()
					resolve(answer)
				},
				(error: unknown) => {
					end()
					reject(error)
				},
			)
		})
	}

	/** What waits for the database waits no longer. */
	giveUp(): void {
		this.#isGivingUp = true
		for (const giveUp of [...this.#waits]) giveUp()
	}

	#pause(ms: number): Promise<void> {
		return new Promise((resolve) => {
			this.#endable(ms, () => resolve())
		})
	}

	/** Calls after so long, or when the relay gives up; answers how to have neither. */
	#endable(ms: number, onEnd: (isTimeout: boolean) => void): () => void {
		const end = () => {
			cancel()
			this.#waits.delete(giveUp)
		}
		const fire = (isTimeout: boolean) => {
			end()
			onEnd(isTimeout)
		}
		const giveUp = () => fire(false)
		const cancel = this.runtime.setTimer(ms, () => fire(true))
		this.#waits.add(giveUp)
		return end
	}
}
