/**
 * Messages become rows here. Everything is checked before anything is written, so that a batch is written whole or not at all; and as long as
 * no schema makes it wait, within the tick of the call.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { type MessageRef, refuseField } from '../message/errors.ts'
import type { SchemaResult } from '../message/standard-schema.ts'
import type { NewRow } from '../store/rows.ts'
import { checkText, KEY_BYTES, NAME_BYTES, toHeadersText, toMaxRetries, toTime } from './fields.ts'
import { toPayloadText } from './payload.ts'
import { accepted, type Schemas } from './schemas.ts'
import { uuidGenerator } from './uuid.ts'

/** The fields that a message has. In a Set: of an object, `constructor` would be one as well. */
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

/** All of a row but what may have to be waited for. */
type Draft = Omit<NewRow, 'payload'>

/** What is left to do when a schema answers later. */
type Later = () => Promise<NewRow>

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

	/** One row a message, in their order; a promise of them only when a schema made one. */
	rows(messages: readonly unknown[], isBatch: boolean): readonly NewRow[] | Promise<readonly NewRow[]> {
		const rows: (NewRow | Later)[] = []
		let isLater = false
		for (let index = 0; index < messages.length; index++) {
			const row = this.#row(messages[index], isBatch ? index : undefined)
			isLater ||= typeof row === 'function'
			rows.push(row)
		}
		if (!isLater) return rows as NewRow[]
		return Promise.all(rows.map((row) => (typeof row === 'function' ? row() : row)))
	}

	#row(message: unknown, index: number | undefined): NewRow | Later {
		if (typeof message !== 'object' || message === null || Array.isArray(message)) {
			refuseField({ index }, 'message', message, 'an object with topic and payload')
		}
		const fields = message as Fields
		const place: MessageRef = { topic: fields['topic'], index }
		for (const name in fields) {
			if (!FIELDS.has(name) && Object.hasOwn(fields, name)) {
				refuseField(place, name, fields[name], `nothing, for a message has only ${[...FIELDS].join(', ')}`)
			}
		}
		const draft = this.#draft(fields, place)
		const payload = fields['payload']
		if (this.#schemas === undefined) return this.#finish(draft, payload, place)
		const result = this.#schemas.of(draft.topic, place)(payload)
		if (!isPromise(result)) return this.#finish(draft, accepted(result, place), place)
		// It is listened to at once: a message further on may be refused before anybody waits for this one.
		const settled = Promise.allSettled([result])
		return async () => {
			const [answer] = await settled
			if (answer.status === 'rejected') throw answer.reason
			return this.#finish(draft, accepted(answer.value, place), place)
		}
	}

	#draft(fields: Fields, place: MessageRef): Draft {
		const topic = checkText(place, 'topic', fields['topic'], NAME_BYTES)
		const { destination, key, dedupeKey } = fields
		const notBefore = toTime('notBefore', fields['notBefore'], place)
		const expiresAt = toTime('expiresAt', fields['expiresAt'], place)
		// With both before 1970 nothing is mistaken: it is over.
		if (notBefore && expiresAt !== null && expiresAt <= notBefore) {
			const got = new Date(expiresAt).toISOString()
			refuseField(place, 'expiresAt', got, `a time after notBefore, ${new Date(notBefore).toISOString()}`)
		}
		return {
			id: this.#newId(),
			topic,
			destination:
				destination === undefined ? topic : checkText(place, 'destination', destination, NAME_BYTES),
			key: key === undefined ? null : checkText(place, 'key', key, KEY_BYTES),
			headers: toHeadersText(fields['headers'], place),
			dedupeKey: dedupeKey === undefined ? null : checkText(place, 'dedupeKey', dedupeKey, KEY_BYTES),
			notBefore,
			expiresAt,
			maxRetries: toMaxRetries(fields['maxRetries'], place),
		}
	}

	#finish(draft: Draft, payload: unknown, place: MessageRef): NewRow {
		return Object.assign(draft, { payload: toPayloadText(payload, this.#maxPayloadBytes, place) })
	}
}

const isPromise = (
	result: SchemaResult<unknown> | Promise<SchemaResult<unknown>>,
): result is Promise<SchemaResult<unknown>> =>
	typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
