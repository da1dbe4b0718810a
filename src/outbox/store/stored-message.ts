/** A stored message from the columns of a table. */
import type { StoredMessage } from './rows.ts'

/** All columns in one row, with the error in three of them. */
export interface MessageRow extends Omit<StoredMessage, 'error'> {
	readonly seq: unknown
	readonly errorType: string | null
	readonly errorMessage: string | null
	readonly errorFingerprint: string | null
}

export function toStoredMessage(columns: MessageRow): StoredMessage {
	const { seq: _, errorType: type, errorMessage, errorFingerprint, ...row } = columns
	const error =
		type === null ? null : { type, message: errorMessage ?? '', fingerprint: errorFingerprint ?? '' }
	return { ...row, error }
}
