/**
 * Which relays are alive. A relay that was killed can not sign off, and the last of all is not forgotten by others: so what counts
 * is when it was heard of, by the database's clock.
 */
import type { RelayRow } from '../store/rows.ts'

/** A relay that was not heard of for so long is taken for gone. */
const SILENT_AFTER_MS = 30_000

export const isAlive = (relay: RelayRow, now: number): boolean => now - relay.seenAt < SILENT_AFTER_MS

/** Named, or by the relay that takes whatever nobody else does. */
export const serves = ({ destinations }: RelayRow, destination: string): boolean =>
	destinations.includes(destination) || destinations.includes('*')
