/**
 * Messages that a process died with, more than once. Which of all that it held was the one can not be told afterwards; so each is tried alone:
 * nothing else under way, nothing else claimed. When the process dies then, it was that one.
 */

import type { WakeSignal } from '../notify/wake-signal.ts'
import type { ClaimedRow, Settlement } from '../store/rows.ts'
import { Delivery, heldBy } from './delivery.ts'
import type { DestinationStates } from './destination-discovery.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'

/** So many are tried before the others may go on. */
const AT_A_TIME = 20
/** Or as many as begin in this time. */
const LONGEST_MS = 250

export class PoisonDetection {
	readonly poisonAfter: number
	readonly #context: RelayContext
	readonly #lanes: DestinationStates
	readonly #dispatcher: Dispatcher
	readonly #settler: Settler
	readonly #bell: WakeSignal
	#claimedAt = 0

	constructor(
		context: RelayContext,
		lanes: DestinationStates,
		dispatcher: Dispatcher,
		settler: Settler,
		bell: WakeSignal,
	) {
		this.#context = context
		this.poisonAfter = Math.max(1, context.settings.maxCrashes - 1)
		this.#lanes = lanes
		this.#dispatcher = dispatcher
		this.#settler = settler
		this.#bell = bell
	}

	/** Tries suspects, if there are any, each alone. */
	async runSuspects(isStopping: () => boolean): Promise<void> {
		const first = await this.#claim()
		if (!first) return
		// Given back at once: should the process die while the others end, it must not be for this one's sake.
		const { store, owner, keepsHistory } = this.#context
		await this.#context.ask('settle', () =>
			store.settle(owner, [{ type: 'release', ...heldBy(first) }], keepsHistory),
		)
		this.#dispatcher.isPaused = true
		try {
			for (const lane of this.#lanes.byName.values()) this.#dispatcher.release(lane, 'isolation')
			await this.#quiet()
			const endsAt = this.#context.runtime.now() + LONGEST_MS
			for (let tried = 0; tried < AT_A_TIME && !isStopping(); tried++) {
				if (tried > 0 && this.#context.runtime.now() >= endsAt) return
				const row = await this.#claim()
				if (!row) return
				await this.#runAlone(row)
			}
		} finally {
			this.#dispatcher.isPaused = this.#context.isStopping
			// What was given back is due as it was, before what is looked at.
			for (const lane of this.#lanes.byName.values()) lane.lookout.reset()
			this.#dispatcher.pump()
		}
	}

	async #claim(): Promise<ClaimedRow | undefined> {
		const { store, owner, settings, runtime } = this.#context
		const now = runtime.now()
		const targets = [...this.#lanes.byName.values()]
			.filter(
				(lane) => lane.gate.state === 'closed' && lane.gate.heldUntil <= now && lane.hasPlaceWhenQuiet(now),
			)
			.map(({ destination, settings: { afterDeadLetter } }) => ({
				...{ destination, limit: 1, since: 0, isProbe: false },
				isOrdered: afterDeadLetter !== undefined,
			}))
		if (targets.length === 0) return undefined
		const { leaseMs } = settings
		const result = await this.#context.ask('claim', () => {
			this.#claimedAt = runtime.now()
			return store.claim({ owner, leaseMs, targets, poisonCandidates: true, poisonAfter: this.poisonAfter })
		})
		this.#context.sawTime(result.now)
		const [row, ...others] = result.rows
		if (others.length > 0)
			await this.#context.ask('settle', () =>
				store.settle(
					owner,
					others.map((other) => ({ type: 'release', ...heldBy(other) })),
					false,
				),
			)
		return row
	}

	async #runAlone(row: ClaimedRow): Promise<void> {
		const lane = this.#lanes.byName.get(row.destination)
		if (!lane) return
		const { settings, store, owner } = this.#context
		const leaseUntil = this.#claimedAt + settings.leaseMs
		const { rate } = lane.settings
		const token =
			rate && (await this.#context.ask('rate', () => store.acquireTokens(lane.destination, 1, rate)))
		if (token?.granted === 0) {
			const later: Settlement = { type: 'release', ...heldBy(row), inMs: Math.max(1, token.inMs) }
			await this.#context.ask('settle', () => store.settle(owner, [later], false))
			return
		}
		this.#dispatcher.start(lane, new Delivery(row, leaseUntil, (one) => this.#dispatcher.expired(one)))
		await this.#quiet()
	}

	/** Nothing is under way, and all that ended is written down. A handler that hangs beyond its time is not waited for: it may never end. */
	async #quiet(): Promise<void> {
		while (this.#isBusy()) await this.#bell.wait(this.#context.settings.pollMs)
		await this.#settler.written()
	}

	#isBusy(): boolean {
		for (const { underWay } of this.#lanes.byName.values())
			for (const { isSettled } of underWay) if (!isSettled) return true
		return false
	}
}
