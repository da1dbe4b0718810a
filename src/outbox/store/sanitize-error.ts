/** Stored forms of an error whose text the database rejects: knowing that a message failed matters more than the text. */
import type { StoredError } from '../message/message.ts'

/** NUL ends a text in SQLite and is invalid in PostgreSQL; lone surrogates are not valid Unicode. */
const UNSTORABLE = /[\0\p{Surrogate}]/gu

const sanitize = (text: string): string => text.replace(UNSTORABLE, '\ufffd')

/** Returns the error without characters that databases reject. */
export const sanitizeError = ({ type, message, fingerprint }: StoredError): StoredError => ({
	type: sanitize(type),
	message: sanitize(message),
	fingerprint: sanitize(fingerprint),
})

/** Stored if the database rejects the sanitized error too. */
export const UNSTORABLE_ERROR: StoredError = {
	type: 'Error',
	message: '(the error text could not be stored)',
	fingerprint: 'unwritable',
}
