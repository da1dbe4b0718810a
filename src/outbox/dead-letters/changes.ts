/**
 * What a dead letter is changed to, checked by the very functions that check at enqueue: a message that could not have been enqueued must not
 * come in by the back door.
 */
import { checkNames, invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import { placed } from '../../http/options/option-path.ts'
import { checkText, NAME_BYTES, toHeadersText, toMaxRetries, toTime } from '../enqueue/fields.ts'
import { toPayloadText } from '../enqueue/payload.ts'
import { type Schemas, validValue } from '../enqueue/schemas.ts'
import type { MessageRef } from '../message/errors.ts'
import type { MessageEdit } from '../store/store.ts'
import type { DeadLetterChanges } from './options.ts'

const NAMES: OptionSchema = {
	payload: 'any',
	headers: 'any',
	destination: 'any',
	expiresAt: 'any',
	maxRetries: 'any',
}

/** What a store takes, of the message that it found. A payload that is given but undefined is refused as at enqueue. */
export async function toEdit(
	{ id, topic }: { readonly id: string; readonly topic?: string },
	changes: DeadLetterChanges,
	maxPayloadBytes: number,
	schemas: Schemas | undefined,
): Promise<MessageEdit> {
	if (Object(changes) !== changes || Array.isArray(changes))
		invalidOption('changes', changes, 'an object, such as { payload }')
	placed('changes.', () => checkNames(changes, NAMES))
	const ref: MessageRef = topic === undefined ? { id } : { id, topic }
	const { headers, destination, expiresAt, maxRetries } = changes
	const payload =
		'payload' in changes && schemas && topic !== undefined
			? validValue(await schemas.validator(topic, ref)(changes.payload), ref)
			: changes.payload
	return {
		...('payload' in changes && { payload: toPayloadText(payload, maxPayloadBytes, ref) }),
		...(headers !== undefined && { headers: toHeadersText(headers ?? undefined, ref) }),
		...(destination !== undefined && {
			destination: checkText(ref, 'destination', destination, NAME_BYTES),
		}),
		...(expiresAt !== undefined && { expiresAt: toTime('expiresAt', expiresAt ?? undefined, ref) }),
		...(maxRetries !== undefined && { maxRetries: toMaxRetries(maxRetries ?? undefined, ref) }),
	}
}
