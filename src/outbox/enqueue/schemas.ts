/**
 * The schemas of topics. What is stored is what the schema makes of a payload, so that a default or a conversion happens once and not at
 * every delivery. A schema that answers at once is not waited for: with `node:sqlite` the user may commit in the same tick.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { InvalidMessageError, type MessageRef, refuseField } from '../message/errors.ts'
import type { Topics } from '../message/message.ts'
import type { SchemaIssue, SchemaResult } from '../message/standard-schema.ts'
import { pathStep } from './json-check.ts'

type Validate = (payload: unknown) => SchemaResult<unknown> | Promise<SchemaResult<unknown>>

const MOST_NAMED = 20

/** The schemas by topic. Refuses what is no schema when the outbox is made, and not with the first message. */
export function readTopics(topics: unknown): Schemas | undefined {
	if (topics === undefined) return undefined
	if (typeof topics !== 'object' || topics === null || Symbol.iterator in topics) {
		invalidOption('topics', topics, 'an object with a schema for each topic')
	}
	return new Schemas(topics as Topics)
}

export class Schemas {
	readonly #byTopic = new Map<string, Validate>()

	constructor(topics: Topics) {
		for (const [topic, schema] of Object.entries(topics)) {
			const standard = (schema as Partial<typeof schema> | null | undefined)?.['~standard']
			if (typeof standard?.validate !== 'function') {
				invalidOption(
					`topics[${JSON.stringify(topic)}]`,
					schema,
					'a Standard Schema, such as one of zod or valibot',
				)
			}
			this.#byTopic.set(topic, (payload) => standard.validate(payload))
		}
	}

	/** The schema of a topic; an unknown topic is refused. */
	of(topic: string, place: MessageRef): Validate {
		const validate = this.#byTopic.get(topic)
		if (validate === undefined) refuseField(place, 'topic', topic, this.#known())
		return validate
	}

	#known(): string {
		const names = [...this.#byTopic.keys()]
		if (names.length === 0) return 'nothing, for this outbox has no topics'
		const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
		return `one of this outbox's topics: ${names.slice(0, MOST_NAMED).join(', ')}${more}`
	}
}

/** The schema's own form of the payload; throws with all that it has found. */
export function accepted(result: SchemaResult<unknown>, place: MessageRef): unknown {
	if (result.issues === undefined) return result.value
	const issues = result.issues.map(({ message, path }) => ({ field: fieldOf(path), message }))
	throw new InvalidMessageError(
		place,
		issues.length > 0 ? issues : [{ field: 'payload', message: 'is not valid' }],
	)
}

function fieldOf(path: SchemaIssue['path'] = []): string {
	const steps = path.map((step) => pathStep(typeof step === 'object' ? step.key : step))
	return `payload${steps.join('')}`
}
