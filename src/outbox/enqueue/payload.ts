/**
 * A payload becomes JSON here, once: stores keep the text as it is. `JSON.stringify` loses some values without a word (NaN turns into
 * null, a Map or a promise into an empty object); a message that lost something must not be sent, so those are looked for, but only where the
 * text shows that there may be one. Checking every value first would cost more than writing it.
 */
import { InvalidMessageError, type MessageRef, refuseField, show } from '../message/errors.ts'
import { findJsonIssue, isPlainJson, type JsonIssue } from './json-check.ts'

/** The JSON of a payload. Throws an InvalidMessageError for what JSON can not hold, and for more bytes (UTF-8) than `maxBytes`. */
export function toPayloadText(payload: unknown, maxBytes: number, where: MessageRef): string {
	let text: string | undefined
	try {
		text = JSON.stringify(payload)
	} catch (error) {
		const flaw = findJsonIssue(payload)
		if (flaw !== undefined) refuseFlaw(where, flaw)
		const why = error instanceof Error ? error.message : show(error)
		throw new InvalidMessageError(
			where,
			[{ field: 'payload', message: `could not be written as JSON: ${why}` }],
			{
				cause: error,
			},
		)
	}
	if (text === undefined)
		refuseField(where, 'payload', payload, 'anything that JSON can hold; null for nothing')
	if ((text.includes('null') || text.includes('{}')) && !isPlainJson(payload)) {
		const flaw = findJsonIssue(payload)
		if (flaw !== undefined) refuseFlaw(where, flaw)
	}
	checkBytes(where, text, maxBytes)
	return text
}

function checkBytes(where: MessageRef, text: string, maxBytes: number): void {
	// No UTF-16 unit takes more than three bytes, so most texts need not be counted.
	if (text.length * 3 <= maxBytes) return
	const bytes = Buffer.byteLength(text)
	if (bytes <= maxBytes) return
	const message = `is ${figure(bytes)} bytes of JSON; at most ${figure(maxBytes)} are taken (maxPayloadBytes)`
	throw new InvalidMessageError(where, [{ field: 'payload', message }])
}

const figure = (count: number): string => count.toLocaleString('en-US')

function refuseFlaw(where: MessageRef, flaw: JsonIssue): never {
	throw new InvalidMessageError(where, [{ field: `payload${flaw.path}`, message: flaw.what }])
}
