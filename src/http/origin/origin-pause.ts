/**
 * When an origin may be asked again, once it has said that it wants less: for everybody, since who is told to wait is told so on
 * behalf of all. Pure: it is told the time and answers at once.
 */
import type { Quota } from './quota.ts'

/** A server that asks for more than this is asked again all the same: one answer must not close an origin for good. */
export const MAX_PAUSE_MS = 3_600_000

/** The least spread of those who come back, in milliseconds, and their spread as a share of the wait. */
const LEAST_SPREAD_MS = 100
const SPREAD = 0.25

/**
 * A wait with something on top by chance, never less than was asked for. Everybody is told of the same moment, and who
 * keeps to it to the letter comes back with all the others.
 */
export const addJitter = (waitMs: number, chance: { random(): number }): number =>
	waitMs + chance.random() * Math.max(LEAST_SPREAD_MS, waitMs * SPREAD)

export class OriginPause {
	#until = -Infinity

	/** An answer asked to be left alone for so long. The longest counts. */
	ask(now: number, waitMs: number): void {
		this.#until = Math.max(this.#until, now + waitMs)
	}

	/** How long nobody should ask, by a server's word or by its quota; 0 when one may. */
	waitMs(now: number, quota: Quota | undefined): number {
		return Math.max(0, this.#until - now, quota?.waitMs(now) ?? 0)
	}
}
