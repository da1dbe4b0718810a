/** Short ways to say what became of a message that was claimed. */
import type { DeadLetterCause, StoredError } from '../../message/message.ts'
import type { AfterDeadLetter, ClaimRef, Settlement } from '../../store/rows.ts'

export const BOOM: StoredError = { type: 'Error', message: 'boom', fingerprint: 'f-boom' }

export const claimRef = ({ id, attempt, claimedAt, sequence }: ClaimRef): ClaimRef => ({
	id,
	attempt,
	claimedAt,
	sequence,
})

export const sent = (row: ClaimRef): Settlement => ({ type: 'sent', ...claimRef(row) })

export const retry = (
	row: ClaimRef,
	inMs: number,
	delayMs: number | null = inMs,
	error: StoredError = BOOM,
): Settlement => ({ type: 'retry', ...claimRef(row), inMs, delayMs, error })

export const release = (row: ClaimRef, inMs?: number): Settlement => ({
	type: 'release',
	...claimRef(row),
	inMs,
})

export interface Death {
	readonly cause?: DeadLetterCause
	readonly error?: StoredError | null
	readonly afterDeadLetter?: AfterDeadLetter
	readonly refundAttempt?: boolean
}

export const dead = (
	row: ClaimRef,
	{ cause = 'permanent', error = BOOM, afterDeadLetter = 'skip', refundAttempt }: Death = {},
): Settlement => ({ type: 'dead', ...claimRef(row), cause, error, afterDeadLetter, refundAttempt })
