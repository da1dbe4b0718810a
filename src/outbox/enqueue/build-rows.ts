/**
 * Builds the rows of messages. All messages of a batch are checked before anything is written, so a batch is
 * written completely or not at all. Unless a schema is asynchronous, the rows are built within the tick.
 */
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { InvalidMessageError, invalidField, type MessageRef } from '../message/errors.ts'
import type { OutboxSettings } from '../outbox-options.ts'
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
import { type ValidatePayload, type Validation, validValue } from './schemas.ts'
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
type Rows = readonly NewRow[]

/** A row without its payload, which an asynchronous schema may delay. */
type Draft = Omit<NewRow, 'payload'>

/** Completes a row when an asynchronous schema has validated its payload. */
type PendingRow = () => Promise<NewRow>

const ASYNC_SCHEMA =
	'the schema of the topic is asynchronous, and enqueueSync cannot wait for it. Use enqueue, or a synchronous schema'

export class RowBuilder {
	readonly #validate: ValidatePayload | undefined
	readonly #maxPayloadBytes: number
	readonly #newId: () => string

	constructor({ validatePayload, maxPayloadBytes, runtime }: OutboxSettings) {
		this.#validate = validatePayload
		this.#maxPayloadBytes = maxPayloadBytes
		this.#newId = uuidGenerator(runtime)
	}

	/** Returns one row per message, in order; a promise only if a schema is asynchronous. */
	build(messages: readonly unknown[], isBatch: boolean, added?: AddedHeaders): Rows | Promise<Rows> {
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
	buildSync(messages: readonly unknown[], isBatch: boolean, added?: AddedHeaders): Rows {
		return messages.map((message, at) => {
			const index = isBatch ? at : undefined
			const row = this.#buildRow(message, index, added)
			if (typeof row !== 'function') return row
			const { topic } = message as Fields
			throw new InvalidMessageError({ topic, index }, [{ field: 'payload', message: ASYNC_SCHEMA }])
		})
	}

	/**
	 * Returns a row of the message for each destination. The payload is encoded once. Dedupe keys are unique in
	 * the outbox, so each row has its own.
	 */
	fanOut(row: NewRow, destinations: readonly string[]): Rows {
		const ref: MessageRef = { topic: row.topic }
		return [...new Set(destinations)].map((name) => {
			const destination = checkText(ref, 'destination', name, NAME_BYTES)
			const { dedupeKey } = row
			const ownKey = dedupeKey && checkText(ref, 'dedupeKey', `${dedupeKey}:${destination}`, KEY_BYTES)
			return { ...row, id: this.#newId(), destination, dedupeKey: ownKey }
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
		if (this.#validate === undefined) return this.#complete(draft, payload, ref)
		const result = this.#validate(draft.topic, payload, ref)
		if (!isPromise(result)) return this.#complete(draft, validValue(result, ref), ref)
		// Its rejection is handled now: if a later message is invalid, nothing awaits this promise.
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
			const expected = `a time after notBefore (${new Date(notBefore).toISOString()})`
			invalidField(ref, 'expiresAt', new Date(expiresAt).toISOString(), expected)
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

const isPromise = (result: Validation): result is Extract<Validation, Promise<unknown>> =>
	typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
