import type { StoredError } from '../message/message.ts'

const LONGEST = 200

/** A failure inside of a sentence, with what leads to it; nothing when there was none. */
export function failureText(error: StoredError | null, lead: string): string {
	if (error === null) return ''
	const { type, message } = error
	const text = message === '' ? type : `${type}: ${message}`
	return `${lead}${text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text.replace(/\.$/, '')}`
}
