/** Short ways to say what became of a message that was claimed. */
import type { DeathCause, FailureNote } from '../message/message.ts'
import type { Held, Outcome, StuckPolicy } from '../store/rows.ts'

export const BOOM: FailureNote = { type: 'Error', message: 'boom', fingerprint: 'f-boom' }

export const held = ({ id, attempt, claimedAt }: Held): Held => ({ id, attempt, claimedAt })

export const sent = (row: Held): Outcome => ({ type: 'sent', ...held(row) })

export const retry = (
	row: Held,
	inMs: number,
	delayMs: number | null = inMs,
	error: FailureNote = BOOM,
): Outcome => ({
	type: 'retry',
	...held(row),
	inMs,
	delayMs,
	error,
})

export const release = (row: Held, inMs?: number): Outcome => ({ type: 'release', ...held(row), inMs })

export interface Death {
	readonly cause?: DeathCause
	readonly error?: FailureNote | null
	readonly stuck?: StuckPolicy
	readonly isUntried?: boolean
}

export const dead = (
	row: Held,
	{ cause = 'permanent', error = BOOM, stuck = 'dead-letter', isUntried }: Death = {},
): Outcome => ({
	type: 'dead',
	...held(row),
	cause,
	error,
	stuck,
	isUntried,
})
