/**
 * Builds the rows of messages. All messages of a batch are checked before anything is written, so a batch is
 * written completely or not at all; and unless a schema is asynchronous, the rows are built within the tick
 * of the call.
 */

import type { SchemaResult } from '../../core/options/standard-schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { InvalidMessageError, invalidField, type MessageRef } from '../message/errors.ts'
import type { NewRow } from '../store/rows.ts'
import {
	type AddedHeaders,
	checkText,
	KEY_BYTES,
	NAME_BYTES,
	toHeadersText,
	toMaxRetries,
	toTime,
} from './fields.ts'
import { toPayloadText } from './payload.ts'
import { type Schemas, validValue } from './schemas.ts'
import { uuidGenerator } from './uuid.ts'

/** A Set, because an object would also have `constructor`. */
const FIELDS: ReadonlySet<string> = new Set([
	'topic',
	'destination',
	'key',
	'payload',
	'headers',
	'dedupeKey',
	'notBefore',
	'expiresAt',
	'maxRetries',
])

type Fields = Readonly<Record<string, unknown>>

/** A row without its payload, which an asynchronous schema may delay. */
type Draft = Omit<NewRow, 'payload'>

/** Completes a row when an asynchronous schema has validated its payload. */
type PendingRow = () => Promise<NewRow>

const ASYNC_SCHEMA =
	'the schema of the topic is asynchronous, and enqueueSync cannot wait for it. Use enqueue, or a synchronous schema'

export interface RowBuilderOptions {
	readonly schemas: Schemas | undefined
	readonly maxPayloadBytes: number
	readonly runtime: Runtime
}

export class RowBuilder {
	readonly #schemas: Schemas | undefined
	readonly #maxPayloadBytes: number
	readonly #newId: () => string

	constructor({ schemas, maxPayloadBytes, runtime }: RowBuilderOptions) {
		this.#schemas = schemas
		this.#maxPayloadBytes = maxPayloadBytes
		this.#newId = uuidGenerator(runtime)
	}

	/** Returns one row per message, in order; a promise only if a schema is asynchronous. */
	build(
		messages: readonly unknown[],
		isBatch: boolean,
		added?: AddedHeaders,
	): readonly NewRow[] | Promise<readonly NewRow[]> {
		const rows: (NewRow | PendingRow)[] = []
		let hasPending = false
		for (let index = 0; index < messages.length; index++) {
			const row = this.#buildRow(messages[index], isBatch ? index : undefined, added)
			hasPending ||= typeof row === 'function'
			rows.push(row)
		}
		if (!hasPending) return rows as NewRow[]
		return Promise.all(rows.map((row) => (typeof row === 'function' ? row() : row)))
	}

	/** Returns one row per message, in order. Throws if a schema is asynchronous. */
	buildSync(messages: readonly unknown[], isBatch: boolean, added?: AddedHeaders): readonly NewRow[] {
		return messages.map((message, at) => {
			const index = isBatch ? at : undefined
			const row = this.#buildRow(message, index, added)
			if (typeof row !== 'function') return row
			const { topic } = message as Fields
			throw new InvalidMessageError({ topic, index }, [{ field: 'payload', message: ASYNC_SCHEMA }])
		})
	}

	#buildRow(message: unknown, index: number | undefined, added: AddedHeaders): NewRow | PendingRow {
		if (typeof message !== 'object' || message === null || Array.isArray(message))
			invalidField({ index }, 'message', message, 'an object with topic and payload')
		const fields = message as Fields
		const ref: MessageRef = { topic: fields['topic'], index }
		for (const name in fields)
			if (!FIELDS.has(name) && Object.hasOwn(fields, name)) rejectUnknownField(ref, name)
		const draft = this.#draft(fields, ref, added)
		const payload = fields['payload']
		if (this.#schemas === undefined) return this.#complete(draft, payload, ref)
		const result = this.#schemas.validator(draft.topic, ref)(payload)
		if (!isPromise(result)) return this.#complete(draft, validValue(result, ref), ref)
		// Handled now: if a later message is invalid, nothing awaits this promise, and its rejection must not be
		// unhandled.
		const settled = Promise.allSettled([result])
		return async () => {
			const [validated] = await settled
			if (validated.status === 'rejected') throw validated.reason
			return this.#complete(draft, validValue(validated.value, ref), ref)
		}
	}

	#draft(fields: Fields, ref: MessageRef, added: AddedHeaders): Draft {
		const topic = checkText(ref, 'topic', fields['topic'], NAME_BYTES)
		const { destination, key, dedupeKey } = fields
		const notBefore = toTime('notBefore', fields['notBefore'], ref)
		const expiresAt = toTime('expiresAt', fields['expiresAt'], ref)
		// A notBefore of 0 may stand for two different dates before 1970, which cannot be compared here.
		if (notBefore && expiresAt !== null && expiresAt <= notBefore) {
			const received = new Date(expiresAt).toISOString()
			invalidField(
				ref,
				'expiresAt',
				received,
				`a time after notBefore (${new Date(notBefore).toISOString()})`,
			)
		}
		return {
			id: this.#newId(),
			topic,
			destination: destination === undefined ? topic : checkText(ref, 'destination', destination, NAME_BYTES),
			key: key === undefined ? null : checkText(ref, 'key', key, KEY_BYTES),
			headers: toHeadersText(fields['headers'], ref, added),
			dedupeKey: dedupeKey === undefined ? null : checkText(ref, 'dedupeKey', dedupeKey, KEY_BYTES),
			notBefore,
			expiresAt,
			maxRetries: toMaxRetries(fields['maxRetries'], ref),
		}
	}

	#complete(draft: Draft, payload: unknown, ref: MessageRef): NewRow {
		return Object.assign(draft, { payload: toPayloadText(payload, this.#maxPayloadBytes, ref) })
	}
}

function rejectUnknownField(ref: MessageRef, field: string): never {
	const names = [...FIELDS]
	const hint = didYouMean(nearestName(field, names)) || ` Valid fields: ${names.join(', ')}`
	throw new InvalidMessageError(ref, [{ field, message: `unknown field.${hint}` }])
}

const isPromise = (
	result: SchemaResult<unknown> | Promise<SchemaResult<unknown>>,
): result is Promise<SchemaResult<unknown>> =>
	typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
