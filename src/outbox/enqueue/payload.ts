/**
 * Serializes a payload once; stores keep the text. `JSON.stringify` silently changes some values (NaN becomes
 * null, a Map or a promise an empty object). A message that lost data must not be sent, so such values are
 * searched for, but only if the text contains `null` or `{}`: checking every value would cost more than
 * serializing it.
 */
import { formatNumber } from '../../text/format.ts'
import { InvalidMessageError, invalidField, type MessageRef, show } from '../message/errors.ts'
import { findJsonIssue, isPlainJson } from './json-check.ts'

/** Returns the payload as JSON. Throws if JSON cannot hold it, or above `maxBytes` of UTF-8. */
export function toPayloadText(payload: unknown, maxBytes: number, ref: MessageRef): string {
	let text: string | undefined
	try {
		text = JSON.stringify(payload)
	} catch (error) {
		checkJson(payload, ref)
		const reason = error instanceof Error ? error.message : show(error)
		const message = `cannot be serialized as JSON: ${reason}`
		throw new InvalidMessageError(ref, [{ field: 'payload', message }], { cause: error })
	}
	if (text === undefined) invalidField(ref, 'payload', payload, 'a JSON value (null for no payload)')
	if ((text.includes('null') || text.includes('{}')) && !isPlainJson(payload)) checkJson(payload, ref)
	checkBytes(ref, text, maxBytes)
	return text
}

function checkBytes(ref: MessageRef, text: string, maxBytes: number): void {
	// A UTF-16 unit takes at most three bytes, so most texts need not be counted.
	if (text.length * 3 <= maxBytes) return
	const bytes = Buffer.byteLength(text)
	if (bytes <= maxBytes) return
	const message = `expected at most ${formatNumber(maxBytes)} bytes of JSON (maxPayloadBytes), got ${formatNumber(bytes)}`
	throw new InvalidMessageError(ref, [{ field: 'payload', message }])
}

function checkJson(payload: unknown, ref: MessageRef): void {
	const issue = findJsonIssue(payload)
	if (issue) throw new InvalidMessageError(ref, [{ ...issue, field: `payload${issue.field}` }])
}
