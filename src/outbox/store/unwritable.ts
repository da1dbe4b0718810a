/** What is written of an error whose words the database does not take: that a message failed is worth more than the words it failed with. */
import type { StoredError } from '../message/message.ts'

/** NUL ends a text in SQLite and is none in PostgreSQL, and half a surrogate pair is no text at all: an error's words may have both. */
const UNWRITABLE = /[\0\p{Surrogate}]/gu

const clean = (text: string): string => text.replace(UNWRITABLE, '\ufffd')

/** Without the characters that no database holds. */
export const cleanNote = ({ type, message, fingerprint }: StoredError): StoredError => ({
	type: clean(type),
	message: clean(message),
	fingerprint: clean(fingerprint),
})

/** In the place of an error that the database does not take. */
export const UNWRITABLE_NOTE: StoredError = {
	type: 'Error',
	message: '(the error could not be written)',
	fingerprint: 'unwritable',
}
