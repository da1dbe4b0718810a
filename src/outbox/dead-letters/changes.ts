/** Checks an edited dead letter like `enqueue`, so that an edit cannot create an invalid message. */
import { withArgumentPath } from '../../core/options/option-path.ts'
import { checkNames, invalidArgument } from '../../core/options/schema.ts'
import { checkText, NAME_BYTES, toHeadersText, toMaxRetries, toTime } from '../enqueue/fields.ts'
import { toPayloadText } from '../enqueue/payload.ts'
import { type ValidatePayload, validValue } from '../enqueue/schemas.ts'
import type { MessageRef } from '../message/errors.ts'
import type { MessageEdit } from '../store/store.ts'
import type { DeadLetterChanges } from './options.ts'

const SCHEMA: Readonly<Record<keyof DeadLetterChanges, 'any'>> = {
	payload: 'any',
	headers: 'any',
	destination: 'any',
	expiresAt: 'any',
	maxRetries: 'any',
}

export interface PayloadRules {
	readonly maxPayloadBytes: number
	readonly validatePayload?: ValidatePayload | undefined
}

/** Returns the changes for the store. A payload that is given as undefined is rejected, as by `enqueue`. */
export async function toEdit(
	{ id, topic }: { readonly id: string; readonly topic?: string },
	changes: DeadLetterChanges,
	{ maxPayloadBytes, validatePayload }: PayloadRules,
): Promise<MessageEdit> {
	if (Object(changes) !== changes || Array.isArray(changes))
		invalidArgument('changes', changes, 'an object such as { payload }')
	withArgumentPath('changes', () => checkNames(changes, SCHEMA))
	const ref: MessageRef = topic === undefined ? { id } : { id, topic }
	const { headers, destination, expiresAt, maxRetries } = changes
	const payload =
		'payload' in changes && validatePayload && topic !== undefined
			? validValue(await validatePayload(topic, changes.payload, ref), ref)
			: changes.payload
	return {
		...('payload' in changes && { payload: toPayloadText(payload, maxPayloadBytes, ref) }),
		...(headers !== undefined && { headers: toHeadersText(headers ?? undefined, ref) }),
		...(destination !== undefined && { destination: checkText(ref, 'destination', destination, NAME_BYTES) }),
		...(expiresAt !== undefined && { expiresAt: toTime('expiresAt', expiresAt ?? undefined, ref) }),
		...(maxRetries !== undefined && { maxRetries: toMaxRetries(maxRetries ?? undefined, ref) }),
	}
}
